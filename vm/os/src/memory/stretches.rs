//! The pieces of memory that the heap has, and those of abandoned heaps. A heap is abandoned when a
//! thread was killed while it changed the heap, since its lists may be inconsistent. Blocks of an
//! abandoned heap stay valid, and are never freed. The list is written to under the heap's lock.

use core::sync::atomic::{AtomicUsize, Ordering};

/// Start and end of each piece, as far as they fit.
static ALL: [[AtomicUsize; 2]; 64] = [const { [AtomicUsize::new(0), AtomicUsize::new(0)] }; 64];
static USED: AtomicUsize = AtomicUsize::new(0);
/// Number of abandoned pieces; they come first. [`EVERYTHING`]: not all of them are known, so nothing
/// is freed any more.
static ABANDONED: AtomicUsize = AtomicUsize::new(0);

const EVERYTHING: usize = usize::MAX;

/// Notes that the heap has got `start .. end`.
pub(crate) fn note(start: usize, end: usize) {
    let (used, abandoned) = (
        USED.load(Ordering::Relaxed),
        ABANDONED.load(Ordering::Relaxed),
    );
    if used > abandoned && grow(&ALL[used - 1], start, end) {
        return;
    }
    if let Some([from, to]) = ALL.get(used) {
        from.store(start, Ordering::Relaxed);
        to.store(end, Ordering::Relaxed);
        USED.store(used + 1, Ordering::Release);
    }
}

/// Makes `start .. end` a part of a piece, if it lies right behind it, or before, where the kernel puts each piece below the
/// one before.
fn grow([from, to]: &[AtomicUsize; 2], start: usize, end: usize) -> bool {
    let behind = to.load(Ordering::Relaxed) == start;
    let before = from.load(Ordering::Relaxed) == end;
    if behind {
        to.store(end, Ordering::Relaxed);
    } else if before {
        from.store(start, Ordering::Relaxed);
    }
    behind || before
}

/// All pieces, abandoned or not.
pub(crate) fn all() -> impl Iterator<Item = (u64, u64)> {
    let load = |at: &AtomicUsize| at.load(Ordering::Relaxed) as u64;
    let used = USED.load(Ordering::Acquire);
    ALL[..used]
        .iter()
        .map(move |[from, to]| (load(from), load(to)))
}

/// Marks all pieces as abandoned.
pub(crate) fn abandon() {
    let used = USED.load(Ordering::Relaxed);
    let abandoned = if used < ALL.len() { used } else { EVERYTHING };
    ABANDONED.store(abandoned, Ordering::Relaxed);
}

/// Whether a block at `at` belongs to an abandoned heap.
pub(crate) fn is_abandoned(at: usize) -> bool {
    let past = ALL.get(..ABANDONED.load(Ordering::Relaxed));
    let holds = |[from, to]: &[AtomicUsize; 2]| {
        (from.load(Ordering::Relaxed)..to.load(Ordering::Relaxed)).contains(&at)
    };
    past.is_none_or(|past| past.iter().any(holds))
}

#[cfg(test)]
mod tests;
