//! Multiplying out what a thread has counted in cells.

use super::{Cells, Part, has_enough, parts};
use crate::cache::CodeCache;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_images::{ImageId, Supply};

/// Sums for the counters of each image.
#[derive(Default)]
struct Sums(Vec<(u64, Vec<u64>)>);

impl Sums {
    /// Those of the image with counters at `counters`.
    fn of(&mut self, counters: u64) -> &mut Vec<u64> {
        let known = self.0.iter().position(|(at, _)| *at == counters);
        let n = known.unwrap_or_else(|| {
            self.0.push((counters, Vec::new()));
            self.0.len() - 1
        });
        &mut self.0[n].1
    }
}

/// Adds `parts` as often as each cell says.
fn multiply(sums: &mut Vec<u64>, entries: &[u64], parts: impl Iterator<Item = Part>) {
    for part in parts {
        let entries = entries.get(usize::from(part.cell)).copied().unwrap_or(0);
        let n = part.counter as usize / 8;
        if sums.len() <= n {
            sums.resize(n + 1, 0);
        }
        sums[n] = sums[n].wrapping_add(entries.wrapping_mul(u64::from(part.amount)));
    }
}

/// Reads `cells` into `entries`; whether there is anything.
fn read(entries: &mut Vec<u64>, cells: Cells, held: &impl Fn(u64) -> u64) -> bool {
    entries.clear();
    entries.extend(cells.each().map(held));
    entries.iter().any(|count| *count != 0)
}

impl CodeCache {
    /// Lets code have `count` cells, the first at displacement `first` from `gs`.
    pub fn provide_cells(&mut self, first: u64, count: u32) {
        *self.images.cells_mut() = Supply::new(first, count);
    }

    /// Displacements from `gs` of the cells in use.
    #[must_use]
    pub fn cells(&self) -> Range<u64> {
        self.images.cells().taken()
    }

    /// Whether counts of code to be translated may be bundled.
    #[must_use]
    pub fn may_bundle(&self) -> bool {
        has_enough(self.images.cells())
    }

    /// Multiplies out what a thread has counted. `held` says what is in the cell at this
    /// displacement from `gs`; `add` adds to the counter at another.
    pub fn fold(&self, held: impl Fn(u64) -> u64, mut add: impl FnMut(u64, u64)) {
        let (mut sums, mut entries) = (Sums::default(), Vec::new());
        for kept in &self.bundles.0 {
            if read(&mut entries, kept.cells, &held) {
                let sums = sums.of(kept.counters);
                multiply(sums, &entries, kept.parts.iter().copied());
            }
        }
        for (id, image) in self.images.iter() {
            for unit in self.units.of(id) {
                let mut rows = unit.count_rows();
                for placed in unit.cells() {
                    if read(&mut entries, placed.cells, &held) {
                        let sums = sums.of(image.counters);
                        multiply(sums, &entries, parts(rows.of(placed)));
                    }
                }
            }
        }
        for (counters, sums) in sums.0 {
            for (n, sum) in (0..).zip(sums).filter(|(_, sum)| *sum != 0) {
                add(counters + 8 * n, sum);
            }
        }
    }

    /// The units of `id` are about to be unmapped.
    pub(crate) fn keep_bundles(&mut self, id: ImageId) {
        let counters = self.images.get(id).counters;
        for unit in self.units.of(id) {
            let mut rows = unit.count_rows();
            for placed in unit.cells() {
                self.bundles.keep(placed.cells, rows.of(placed), counters);
            }
        }
    }
}
