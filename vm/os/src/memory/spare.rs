//! Spare mappings to give up. A process may have only so many mappings (`vm.max_map_count`), and
//! its limits may allow it only so much memory. A program that has used up either goes on natively
//! without noticing. But the runtime needs some for code that the program still reaches, and at a
//! fork. So it keeps mappings that serve no other purpose than to be unmapped then.

use crate::c;
use crate::call::call;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes kept: room for copies of two chunks of code.
pub(crate) const KEPT: u64 = 4 << 20;

/// Address of the spare mappings; 0: none are kept.
static SPARE: AtomicU64 = AtomicU64::new(0);
/// The spare mappings have been given up.
static LOST: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_kept() -> bool {
    SPARE.load(Ordering::Relaxed) != 0
}

pub(crate) fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Notes that the spare mappings lie at `first`.
pub(crate) fn kept_at(first: u64) {
    SPARE.store(first, Ordering::Relaxed);
    LOST.store(false, Ordering::Relaxed);
}

/// Unmaps the spare mappings; `false`: there are none.
pub(crate) fn give_up() -> bool {
    let first = SPARE.swap(0, Ordering::Relaxed);
    if first == 0 {
        return false;
    }
    LOST.store(true, Ordering::Relaxed);
    let args = [first as usize, KEPT as usize, 0, 0, 0, 0];
    // SAFETY: nobody uses it.
    unsafe { call(c::__NR_munmap, args) }.is_ok()
}
