//! Where the heap lies, and which of that is abandoned: who was killed while it changed the
//! heap has left its lists in pieces. Blocks in use stay what they are, and are not freed.
//! Written to under the heap's lock.

use core::sync::atomic::{AtomicUsize, Ordering};

/// Start and end; what does not fit is taken for the newest heap's.
static ALL: [[AtomicUsize; 2]; 64] = [const { [AtomicUsize::new(0), AtomicUsize::new(0)] }; 64];
static USED: AtomicUsize = AtomicUsize::new(0);
/// The first so many are abandoned.
static ABANDONED: AtomicUsize = AtomicUsize::new(0);

/// The heap has got `start .. end`.
pub(crate) fn note(start: usize, end: usize) {
    let (used, abandoned) = (
        USED.load(Ordering::Relaxed),
        ABANDONED.load(Ordering::Relaxed),
    );
    if used > abandoned && ALL[used - 1][1].load(Ordering::Relaxed) == start {
        return ALL[used - 1][1].store(end, Ordering::Relaxed);
    }
    if let Some([from, to]) = ALL.get(used) {
        from.store(start, Ordering::Relaxed);
        to.store(end, Ordering::Relaxed);
        USED.store(used + 1, Ordering::Release);
    }
}

/// All of them, abandoned or not.
pub(crate) fn all() -> impl Iterator<Item = (u64, u64)> {
    let load = |at: &AtomicUsize| at.load(Ordering::Relaxed) as u64;
    let used = USED.load(Ordering::Acquire);
    ALL[..used]
        .iter()
        .map(move |[from, to]| (load(from), load(to)))
}

/// All that there is belongs to a heap of the past.
pub(crate) fn abandon() {
    ABANDONED.store(USED.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Whether a block at `at` does.
pub(crate) fn is_abandoned(at: usize) -> bool {
    let past = &ALL[..ABANDONED.load(Ordering::Relaxed)];
    let holds = |[from, to]: &[AtomicUsize; 2]| {
        (from.load(Ordering::Relaxed)..to.load(Ordering::Relaxed)).contains(&at)
    };
    past.iter().any(holds)
}

#[cfg(test)]
mod tests;
