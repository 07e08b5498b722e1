//! Where a thread's global tool counters lie: behind the thread area, in cells of 8 bytes.
//!
//! A processor that does not rename memory behind `gs` makes every addition to a cell wait for the
//! one before. So a counter has several cells, called *colours*, and additions that follow each
//! other go to different ones. Nobody looks at a cell alone: the counter is their sum.
//!
//! ```text
//! gs:CELLS                           counter 0, colour 0
//! gs:CELLS + 8                       counter 1, colour 0
//! ...
//! gs:CELLS + 8 * counters            counter 0, colour 1
//! ```
//! Cells of one colour lie together, since one place adds to them; so do those of neighbouring
//! colours, which neighbouring code has. A tool with one counter touches one page.

use crate::optimize::Optimize;
use crate::thread::BEFORE;

/// Displacement from `gs` of the first cell, which begins a page.
pub const CELLS: u32 = 0x45000 - BEFORE;

/// Most global counters that a tool may have.
pub const GLOBAL_COUNTERS: u32 = 64;

/// Most cells of bundled counts, over all code of a process. Memory is touched only for those of
/// blocks that a thread enters.
pub const BUNDLES: u32 = 1 << 19;

/// Most colours of a counter.
const MOST_COLOURS: u32 = 512;
/// Most cells of a thread.
const MOST_CELLS: u32 = 4096;
/// App bytes that have one colour: few blocks are shorter.
const STEP: u32 = 4;

/// The cells of each thread, under one tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cells {
    counters: u32,
    colours: u32,
}

impl Cells {
    /// The cells for `counters` counters; more than [`GLOBAL_COUNTERS`] there are not.
    #[must_use]
    pub const fn new(counters: u32, optimize: Optimize) -> Self {
        let counters = if counters < GLOBAL_COUNTERS {
            counters
        } else {
            GLOBAL_COUNTERS
        };
        let colours = if counters == 0 || !optimize.has(Optimize::COUNTERS) {
            1
        } else {
            let room = MOST_CELLS / counters;
            let room = 1 << room.ilog2();
            if room < MOST_COLOURS {
                room
            } else {
                MOST_COLOURS
            }
        };
        Self { counters, colours }
    }

    /// Number of counters.
    #[must_use]
    pub const fn counters(self) -> u32 {
        self.counters
    }

    /// Number of cells of each counter: a power of two.
    #[must_use]
    pub const fn colours(self) -> u32 {
        self.colours
    }

    /// Bytes that all cells take.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        8 * (self.counters * self.colours) as u64
    }

    /// The colour of code at `offset` of its image. Code that lies together, such as a loop, has
    /// different ones.
    #[must_use]
    pub const fn colour_at(self, offset: i32) -> u32 {
        offset.cast_unsigned() / STEP % self.colours
    }

    /// Displacement from `gs` of a cell; `colour` is below [`Cells::colours`].
    #[must_use]
    pub const fn disp(self, counter: u32, colour: u32) -> u32 {
        CELLS + 8 * (colour * self.counters + counter)
    }

    /// Displacements from `gs` of all cells of `counter`; none if there is no such counter.
    pub fn of(self, counter: u32) -> impl Iterator<Item = u32> {
        let colours = if counter < self.counters {
            self.colours
        } else {
            0
        };
        (0..colours).map(move |colour| self.disp(counter, colour))
    }

    /// The counter that has its cell at this displacement from `gs`.
    #[must_use]
    pub const fn counter_at(self, disp: u32) -> Option<u32> {
        let Some(behind) = disp.checked_sub(CELLS) else {
            return None;
        };
        let cell = behind / 8;
        if cell < self.counters * self.colours {
            Some(cell % self.counters)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    #[test]
    fn fewer_counters_have_more_colours_and_memory_is_bounded() {
        let colours = |n| Cells::new(n, Optimize::ALL).colours();
        assert_eq!([1, 8, 9, 33, 64].map(colours), [512, 512, 256, 64, 64]);
        for counters in 0..100 {
            let cells = Cells::new(counters, Optimize::ALL);
            assert!(cells.bytes() <= 8 * u64::from(MOST_CELLS));
            assert_eq!(cells.counters(), counters.min(64));
            let plain = Cells::new(counters, Optimize::NONE);
            assert_eq!(plain.bytes(), 8 * u64::from(counters.min(64)));
        }
        assert_eq!(Cells::new(0, Optimize::ALL).bytes(), 0);
    }

    #[test]
    fn every_cell_belongs_to_one_counter() {
        for (counters, optimize) in [(1, Optimize::ALL), (5, Optimize::NONE), (64, Optimize::ALL)] {
            let cells = Cells::new(counters, optimize);
            let mut seen = BTreeSet::new();
            for counter in 0..counters {
                for disp in cells.of(counter) {
                    assert_eq!(cells.counter_at(disp), Some(counter));
                    assert!(seen.insert(disp));
                }
            }
            assert_eq!(8 * seen.len() as u64, cells.bytes());
            assert_eq!(seen.first(), Some(&CELLS));
            let behind = CELLS + cells.bytes() as u32;
            assert_eq!(cells.counter_at(behind), None);
            assert_eq!(cells.counter_at(CELLS - 8), None);
            assert_eq!(cells.of(counters).count(), 0);
        }
    }

    #[test]
    fn the_blocks_of_a_loop_have_different_colours() {
        let cells = Cells::new(1, Optimize::ALL);
        let start = -1024;
        let blocks: Vec<u32> = (0..100).map(|n| cells.colour_at(start + 7 * n)).collect();
        let different: BTreeSet<_> = blocks.iter().collect();
        assert_eq!(different.len(), blocks.len());
        assert!(blocks.iter().all(|colour| *colour < cells.colours()));
    }
}
