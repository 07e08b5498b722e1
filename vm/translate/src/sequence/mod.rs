//! Restartable sequences (rseq(2)).
//!
//! A thread registers a structure with the kernel, which keeps the number of its CPU
//! there. Before a sequence the thread stores the address of a *descriptor* to the
//! structure's `rseq_cs`; if it is interrupted while its pc lies in the described range,
//! the kernel has it go on at the abort handler. The structure stays the app's own. The
//! kernel sees cache addresses as pcs, so each translation of a sequence has a descriptor
//! of its own ([`copies`]), and where the app announces the sequence, the translated
//! store announces the translation (`ppin_lower`, `rseq_store.rs`). Then the kernel
//! aborts when it would have done so natively, and whatever registers the app had.
//!
//! Sequences are discovered by the app's descriptors ([`learn`]): the addresses of descriptors are
//! constants of the code that announces them, and are seen before that code runs for the first
//! time. Programs that build descriptors at run time use the address of an abort handler, which is
//! recognised by its signature; or they register with a signature of their own. In these programs
//! all stores of 8 bytes are watched (`Context::WATCHED`).
//!
//! Translations of sequences are not persisted. A program without sequences pays nothing.

mod copies;
mod landings;
mod learn;
mod registration;
mod trap;

pub use copies::{aborted, arrive, clear_discarded, entry, is_inside};
pub use learn::{announced_unseen, discover};
pub use registration::{call, forget, registered, rejected, segment_moved};
pub use trap::trap;
