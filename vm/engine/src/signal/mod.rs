//! Signal delivery.
//!
//! The kernel delivers every signal that the app handles (or dies of) to the VM's signal handler,
//! on a signal stack of the VM. The next step depends on where the thread was ([`handler`]). At an
//! app instruction boundary the app's frame is built at once ([`deliver`]). In inserted code or a
//! transit routine the thread is single-stepped to the next boundary; an analysis routine runs to
//! its end first. In the VM the signal is
//! pending until the cache is about to be entered. While one signal is pending, the kernel blocks
//! all others, so there is room for one only.
//!
//! The five synchronous fault signals are never blocked in the kernel, because the cache needs
//! them. One that is sent while the VM's handler runs is dealt with when that returns ([`entry`]).
//! The app's own mask is kept in [`ppin_process::signal::state::SignalState::mask`].

mod again;
mod callee;
pub(crate) mod compat;
pub(crate) mod deliver;
pub(crate) mod dump;
pub(crate) mod entry;
pub(crate) mod fatal;
mod flag_code;
pub(crate) mod handler;
mod in_routine;
pub(crate) mod inside;
pub(crate) mod native;
pub(crate) mod origin;
pub(crate) mod redirect;
pub(crate) mod step;
pub(crate) mod traps;
mod waiting;
pub(crate) mod whereabouts;
