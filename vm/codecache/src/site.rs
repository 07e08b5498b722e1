//! A fragment whose jumps go through cells, and the slots by which they are predicted.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::addr::{AppPc, CachePc};

/// A fragment whose jumps may be predicted.
pub(crate) struct Site {
    /// First slot, and behind the last.
    pub slots: Range<u64>,
    /// The app code that it was made from.
    pub source: Range<u64>,
    /// Where it is entered.
    pub entry: u64,
}

impl Site {
    /// The slots at `first` and behind it, if they are this one's.
    pub(crate) fn pair(&self, first: u64) -> Option<Pair> {
        let both = self.slots.contains(&first) && self.slots.contains(&(first + 8));
        // SAFETY: slots of a fragment that is there.
        (both && first.is_multiple_of(8)).then(|| unsafe { Pair::at(first) })
    }

    /// Where the jump with the slots at `first` is predicted to go on, if it is.
    pub(crate) fn predicted(&self, first: u64) -> Option<u64> {
        let [against, entry] = self.pair(first)?.values();
        (against != self.source.start.wrapping_neg()).then_some(entry)
    }
}

/// Two slots by which a jump is predicted.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    first: u64,
}

impl Pair {
    /// Those at `first`.
    ///
    /// # Safety
    /// There and behind it are slots, which outlast the result.
    pub(crate) unsafe fn at(first: u64) -> Self {
        Self { first }
    }

    /// Address of the first.
    pub(crate) fn first(self) -> u64 {
        self.first
    }

    /// Whether nothing has ever been predicted by them. They are those of the fragment for app address `head`
    /// that is entered at `own`, and of no other if they hold what its slots do.
    pub(crate) fn are_unwritten(self, head: AppPc, own: u64) -> bool {
        self.values() == [head.0.wrapping_neg(), own]
    }

    /// Says where the jump goes on. Nobody reads it before the first slot is written.
    pub(crate) fn lead_to(self, entry: CachePc) {
        self.slots()[1].store(entry.0, Ordering::Relaxed);
    }

    pub(crate) fn values(self) -> [u64; 2] {
        self.slots().map(|slot| slot.load(Ordering::Relaxed))
    }

    fn slots(self) -> [&'static AtomicU64; 2] {
        // SAFETY: aligned, mapped and writable: the promise of `at`.
        [self.first, self.first + 8].map(|at| unsafe { AtomicU64::from_ptr(at as *mut u64) })
    }
}
