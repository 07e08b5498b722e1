//! Cells for the bundled counts of images' code: counters of a thread, each of which one fragment gets for itself.

use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};

/// The cells that there are, and how many of them have been given away. (Atomic, since code is given
/// its place while the images are only looked at. The VM lock is held.)
#[derive(Debug, Default)]
pub struct Supply {
    /// Displacement of the first from `gs`.
    first: u64,
    count: u32,
    taken: AtomicU32,
}

impl Supply {
    /// `count` cells, the first at displacement `first` from `gs`.
    #[must_use]
    pub const fn new(first: u64, count: u32) -> Self {
        Self {
            first,
            count,
            taken: AtomicU32::new(0),
        }
    }

    /// Takes `count` cells that lie one behind the other; where the first is, from `gs`.
    pub fn take(&self, count: u16) -> Option<u64> {
        let taken = self.taken.load(Ordering::Relaxed);
        let after = taken + u32::from(count);
        (after <= self.count).then(|| {
            self.taken.store(after, Ordering::Relaxed);
            self.first + 8 * u64::from(taken)
        })
    }

    /// Displacements of those that are taken.
    #[must_use]
    pub fn taken(&self) -> Range<u64> {
        let taken = self.taken.load(Ordering::Relaxed);
        self.first..self.first + 8 * u64::from(taken)
    }

    /// Number of those that are not.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.count - self.taken.load(Ordering::Relaxed)
    }

    /// Whether there were none from the start: nothing is counted by bundles.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_given_away_once() {
        let supply = Supply::new(8, 3);
        assert_eq!(
            [2, 2, 1, 1].map(|n| supply.take(n)),
            [Some(8), None, Some(24), None]
        );
        assert_eq!((supply.taken(), supply.left()), (8..32, 0));
    }
}
