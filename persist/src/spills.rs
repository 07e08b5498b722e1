//! Sets of spilled registers, which rows of the pc map name by number.
//!
//! A unit has one table of sets. A fragment owns a *window* of it: the sets that its rows
//! name ([`ppin_relocator::PcMap::sets`]). Most fragments need the same few, so windows
//! that are alike are one.

use crate::layout::SectionId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ppin_abi::spills::SpillSet;

/// Most sets of one window.
const MOST: usize = u16::MAX as usize;

/// The table under construction.
#[derive(Debug, Default)]
pub(crate) struct SpillTable {
    pub sets: Vec<SpillSet>,
    /// By window: its first set.
    windows: BTreeMap<Vec<SpillSet>, u32>,
    /// By fragment: first set of its window.
    of: Vec<u32>,
}

impl SpillTable {
    /// Adds the window of the next fragment.
    pub(crate) fn add(&mut self, window: &[SpillSet]) {
        let first = match self.windows.get(window) {
            _ if window.is_empty() => 0,
            Some(first) => *first,
            None => self.begin(window),
        };
        self.of.push(first);
    }

    /// Adds `window` to the sets; its first.
    fn begin(&mut self, window: &[SpillSet]) -> u32 {
        // (The writer finds files too large long before.)
        let first = self.sets.len() as u32;
        self.sets.extend_from_slice(window);
        self.windows.insert(window.to_vec(), first);
        first
    }

    /// First set of the window of `fragment`.
    pub(crate) fn first(&self, fragment: usize) -> u32 {
        self.of[fragment]
    }
}

/// The window of a fragment in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    /// From its first set on.
    sets: &'a [u8],
}

impl<'a> Window<'a> {
    /// The window that begins the table's bytes `sets`.
    pub(crate) const fn new(sets: &'a [u8]) -> Self {
        Self { sets }
    }

    /// Indexes of the sets that a window at `first` may have, of `all`.
    pub(crate) fn range(first: u32, all: u32) -> core::ops::Range<u32> {
        let first = first.min(all);
        first..all.min(first.saturating_add(MOST as u32))
    }

    /// Set `index`; `None`: there is none, or it makes no sense.
    pub(crate) fn set(self, index: usize) -> Option<SpillSet> {
        let len = SectionId::Spills.record_len();
        let bytes = self.sets.get(index.checked_mul(len)?..)?;
        SpillSet::from_bytes(*bytes.first_chunk()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppin_abi::spills::Spill;

    #[test]
    fn windows_that_are_alike_are_one() {
        let [rcx, two] =
            [Spill::Rcx.bit(), Spill::Rcx.bit() | Spill::Rax.bit()].map(SpillSet::at_home);
        let mut table = SpillTable::default();
        for window in [&[rcx][..], &[], &[two, rcx], &[rcx]] {
            table.add(window);
        }
        assert_eq!(table.sets, [rcx, two, rcx]);
        let firsts: Vec<u32> = (0..4).map(|n| table.first(n)).collect();
        assert_eq!(firsts, [0, 0, 1, 0]);
    }

    #[test]
    fn sets_come_back() {
        let sets = [2, 3, 0x41].map(SpillSet::at_home);
        let mut table = SpillTable::default();
        table.add(&[SpillSet::at_home(4)]);
        table.add(&sets);
        let bytes: Vec<u8> = table.sets.iter().flat_map(|set| set.to_bytes()).collect();
        let window = Window::new(&bytes[8 * table.first(1) as usize..]);
        assert!([0, 1, 2].map(|n| window.set(n)) == sets.map(Some));
    }

    #[test]
    fn indexes_behind_the_table_and_damaged_sets_are_refused() {
        let sets = [[0, 2, 0, 0, 0, 0, 0, 0], [5, 0, 0, 0, 0, 0, 0, 0]].concat();
        let window = Window::new(&sets);
        assert!(window.set(0).is_some());
        assert_eq!(window.set(1), None, "rsp");
        assert_eq!(window.set(2), None);
        assert_eq!(window.set(usize::MAX), None);
        assert_eq!(Window::range(7, 5), 5..5);
        assert_eq!(Window::range(2, 100_000), 2..65_537);
    }
}
