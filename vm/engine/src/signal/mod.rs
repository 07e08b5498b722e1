//! Signals.
//!
//! The kernel delivers every signal that the app handles (or dies of) to one
//! handler of ours, on a stack of ours. What happens next depends on where the
//! thread was ([`handler`]): at an app instruction boundary the app's frame is
//! built at once ([`deliver`]); in inserted code or a transit routine the thread is
//! single-stepped forward to the next boundary; in the VM the signal waits until
//! the cache is about to be entered. While one waits, the kernel holds back all
//! others, so one place for it is enough.
//!
//! The five synchronous fault signals are never blocked in the kernel: the cache
//! needs them. The app's own wish is kept in [`ppin_process::signal::state::SignalState::mask`].

pub(crate) mod compat;
pub(crate) mod deliver;
pub(crate) mod dump;
pub(crate) mod entry;
pub(crate) mod fatal;
mod flag_code;
pub(crate) mod handler;
pub(crate) mod inside;
pub(crate) mod native;
pub(crate) mod origin;
pub(crate) mod redirect;
pub(crate) mod step;
mod waiting;
pub(crate) mod whereabouts;
