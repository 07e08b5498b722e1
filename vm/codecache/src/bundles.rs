//! Cells of bundled counts: what a block adds 1 to for all of its image counters.
//!
//! Each fragment that has bundles gets cells of its own when it is given its place
//! ([`ppin_relocator::SlotInit::Bundles`]), at the same displacement from `gs` in every thread, which is
//! written into its code ([`ppin_relocator::RelocKind::Cell`]). They are never given to another, so what
//! they hold can be multiplied out whenever it is needed: by [`fold`]. What a cell stands for
//! follows from count rows. Those of a unit are read when something was counted; those of fresh code are
//! copied, since it may be flushed.
//!
//! When there are no cells left, code is translated without bundles, and persisted code with bundles
//! is refused.

use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::MAX_TRACE_BYTES;
use ppin_images::Supply;
use ppin_relocator::{CountRow, Fragment};

/// Whether any fragment can have its cells.
fn has_enough(supply: &Supply) -> bool {
    // (Each block has a byte of the app.)
    supply.left() > MAX_TRACE_BYTES as u32
}

/// Whether `fragment` counts without cells because the `supply` had none left.
pub(crate) fn were_wanting(supply: &Supply, fragment: &Fragment) -> bool {
    let all = supply.is_empty() || has_enough(supply);
    !all && fragment.cells().is_none() && fragment.counts.iter().any(|row| row.image)
}

/// The cells of one fragment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells {
    /// Displacement of the first from `gs`.
    pub first: u64,
    pub count: u16,
}

impl Cells {
    /// Displacements from `gs` of all of them.
    pub(crate) const fn range(self) -> Range<u64> {
        self.first..self.first + 8 * self.count as u64
    }

    fn each(self) -> impl Iterator<Item = u64> {
        (0..u64::from(self.count)).map(move |n| self.first + 8 * n)
    }
}

/// The cells of a fragment in a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InUnit {
    /// The fragment's group.
    pub group: u32,
    /// The slot that says where the cells are.
    pub slot: u32,
    pub cells: Cells,
}

/// What one entry of a block is for one counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    /// Number of the fragment's cell.
    cell: u16,
    amount: u32,
    /// From the image's counters.
    counter: u32,
}

/// A fragment whose count rows may be gone.
#[derive(Debug)]
struct Kept {
    cells: Cells,
    /// Displacement of the image's counters from `gs`.
    counters: u64,
    parts: Vec<Part>,
}

/// What cells stand for, as far as no unit says it.
#[derive(Debug, Default)]
pub(crate) struct Bundles(Vec<Kept>);

impl Bundles {
    /// Cells were given to a fragment with these count rows, of an image whose counters are at
    /// `counters`.
    pub(crate) fn keep(
        &mut self,
        cells: Cells,
        rows: impl Iterator<Item = CountRow>,
        counters: u64,
    ) {
        let parts = merged(parts(rows));
        self.0.push(Kept {
            cells,
            counters,
            parts,
        });
    }
}

/// What the bundles of a fragment with these count rows consist of, row for row.
fn parts(rows: impl Iterator<Item = CountRow>) -> impl Iterator<Item = Part> {
    let (mut done, mut cells) = (None, 0);
    rows.filter(|row| row.image).map(move |row| {
        if done != Some(row.done) {
            done = Some(row.done);
            cells += 1;
        }
        Part {
            cell: cells - 1,
            amount: row.amount,
            counter: row.counter,
        }
    })
}

/// The same with one part for each counter of a bundle, as far as its amount fits.
fn merged(parts: impl Iterator<Item = Part>) -> Vec<Part> {
    let mut parts: Vec<Part> = parts.collect();
    parts.sort_by_key(|part| (part.cell, part.counter));
    parts.dedup_by(|next, part| {
        let same = (next.cell, next.counter) == (part.cell, part.counter);
        match part.amount.checked_add(next.amount).filter(|_| same) {
            Some(sum) => {
                part.amount = sum;
                true
            }
            None => false,
        }
    });
    parts.shrink_to_fit();
    parts
}

mod fold;
#[cfg(test)]
mod tests;
