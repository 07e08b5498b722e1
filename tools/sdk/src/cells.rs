//! An endless array, shared by threads without a lock.
//!
//! Analysis routines must not wait for one another, and a forked child would inherit
//! a lock that another thread held. So a part of the array is made when it is first
//! touched (of two threads that make it at once, one wins and both use that one), and
//! stays where it is.
//!
//! ```text
//! part 0: cell 0      part 1: cells 1, 2      part 2: cells 3 to 6      ...
//! ```

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use once_cell::race::OnceBox;

/// Parts enough for every `u32`.
const PARTS: usize = 33;

/// See the module.
pub struct Cells<T> {
    parts: [OnceBox<Vec<T>>; PARTS],
}

impl<T: Default> Cells<T> {
    /// Nothing touched yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            parts: [const { OnceBox::new() }; PARTS],
        }
    }

    /// The cell of number `index`; its default value if it was never touched.
    #[must_use]
    pub fn get(&self, index: u32) -> &T {
        let number = u64::from(index) + 1;
        let part = number.ilog2();
        let len = 1 << part;
        let cells = self.parts[part as usize].get_or_init(|| Box::new(part_of(len)));
        &cells[(number - len) as usize]
    }
}

fn part_of<T: Default>(len: u64) -> Vec<T> {
    (0..len).map(|_| T::default()).collect()
}

impl<T: Default> Default for Cells<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Cells<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cells").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn every_number_has_its_own_cell() {
        let cells = Cells::<AtomicU32>::new();
        for n in 0..100 {
            assert_eq!(cells.get(n).swap(n + 1, Ordering::Relaxed), 0);
        }
        for n in 0..100 {
            assert_eq!(cells.get(n).load(Ordering::Relaxed), n + 1);
        }
    }

    #[test]
    fn threads_see_the_same_cells() {
        let cells = Cells::<AtomicU32>::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..1000 {
                        cells.get(n).fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert!((0..1000).all(|n| cells.get(n).load(Ordering::Relaxed) == 4));
    }
}
