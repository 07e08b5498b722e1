//! Pages of the heap that will be needed soon, asked for together: a fault for each takes longer.
//!
//! What nearly all runs need is left to faults, and so is the whole heap where the kernel does not
//! know the request (before Linux 5.14) or may not be asked.

use crate::page::{page_down, page_up};
use crate::{c, call};
use core::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a heap that are left to faults.
const FEW: usize = 512 << 10;
/// Bytes that are asked for at once.
const STEP: usize = 64 << 10;
/// A block that ends so far above the others is left to faults: it may not be used as a whole, and
/// the memory between may be free.
const FAR: usize = 1 << 20;

/// End of the heap's memory that has been asked for, or is left to faults. 0: there is none yet.
static END: AtomicUsize = AtomicUsize::new(0);

/// A heap begins at `start`.
pub(super) fn begin(start: usize) {
    END.store(start + FEW, Ordering::Relaxed);
}

/// Blocks up to `end` are in use; the heap's memory ends at `limit`. The heap's lock is held. Whether the heap is larger
/// than that of a run that translates nothing.
pub(super) fn used(end: usize, limit: usize) -> bool {
    /// Bytes that are enough for a run that translates nothing.
    const SMALL: usize = 128 << 10;
    let from = END.load(Ordering::Relaxed);
    if end > from && end - from < FAR {
        ask(from, (end + STEP).min(limit));
    }
    end > from.saturating_sub(FEW - SMALL)
}

#[cold]
fn ask(from: usize, to: usize) {
    let (from, to) = (page_up(from as u64) as usize, page_down(to as u64) as usize);
    if to <= from {
        return;
    }
    let args = [from, to - from, c::MADV_POPULATE_WRITE as usize, 0, 0, 0];
    // SAFETY: the range is the heap's, and its contents do not change.
    let done = unsafe { call(c::__NR_madvise, args) };
    let end = if done.is_ok() { to } else { usize::MAX };
    END.store(end, Ordering::Relaxed);
}
