//! The translation of a restartable sequence (rseq(2)).
//!
//! The kernel knows a sequence by a descriptor: first address, length, abort handler.
//! While the thread is in that range and is preempted, migrated or given a signal, it
//! goes on at the handler. So the whole sequence lies in the cache in one piece, with a
//! descriptor of its own, which takes the place of the app's when that is announced:
//!
//! ```text
//! head     the store that announces the sequence, if that is the instruction before it;
//!          else a check whether it has been announced        (ppin-lower, rseq_entry.rs)
//! range    the sequence: branches inside it stay inside
//!          exit to what follows
//! cold     the stub at which the kernel lets aborted threads go on
//! ```
//! The range ends with the last instruction itself: behind that, it has committed.

mod builder;
mod landing;
mod pieces;

pub use builder::{SequenceCode, compile_sequence};
pub use landing::{LandingSlot, compile_landing};

use ppin_abi::addr::AppPc;
use ppin_decode::InsReader;

/// Length of the instruction at the beginning of `bytes`.
#[must_use]
pub fn length(pc: AppPc, bytes: &[u8]) -> Option<u32> {
    InsReader::new(pc, bytes).read().ok().map(|ins| ins.len())
}

/// Whether the instruction at `pc` is a store that announces a sequence at `start`, if
/// it is one to the right place.
#[must_use]
pub fn announces(pc: AppPc, bytes: &[u8], start: AppPc) -> bool {
    let ins = InsReader::new(pc, bytes).read();
    ins.is_ok_and(|ins| ins.next() == start && ins.stores_word())
}
