//! Sets of spilled registers, which rows of the pc map name by a byte.
//!
//! A unit has one table of sets. A fragment owns a *window* of it: the sets that its rows
//! need, in the order in which they need them. Most fragments need the same few, so windows
//! that are alike are one. A row names set `n` of its fragment's window as `n + 1`; 0 stands
//! for the empty set.

use crate::layout::SectionId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ppin_abi::spills::SpillSet;
use ppin_relocator::PcRow;

/// Most sets of one window: a byte names them, and the empty one, and has another meaning left.
const MOST: usize = u8::MAX as usize - 1;

/// The table under construction.
#[derive(Debug, Default)]
pub(crate) struct SpillTable {
    pub sets: Vec<SpillSet>,
    /// By window: its first set.
    windows: BTreeMap<Vec<SpillSet>, u32>,
    /// By fragment: first set of its window, and their number.
    of: Vec<(u32, u8)>,
    /// The window at hand, in memory that serves for each.
    window: Vec<SpillSet>,
}

impl SpillTable {
    /// Adds the window of the next fragment, whose pc map is `rows`. `None`: it is too long.
    pub(crate) fn add(&mut self, rows: &[PcRow]) -> Option<()> {
        self.window.clear();
        collect(rows, &mut self.window);
        if self.window.len() > MOST {
            return None;
        }
        let len = self.window.len() as u8;
        let first = match self.windows.get(self.window.as_slice()) {
            _ if len == 0 => 0,
            Some(first) => *first,
            None => self.begin()?,
        };
        self.of.push((first, len));
        Some(())
    }

    /// Adds the window at hand to the sets; its first.
    fn begin(&mut self) -> Option<u32> {
        let first = u32::try_from(self.sets.len()).ok()?;
        self.sets.extend_from_slice(&self.window);
        self.windows.insert(self.window.clone(), first);
        Some(first)
    }

    /// First set of the window of `fragment`.
    pub(crate) fn first(&self, fragment: usize) -> u32 {
        self.of[fragment].0
    }

    /// By what number rows of `fragment` name a set of its window, or the empty one.
    pub(crate) fn number(&self, fragment: usize, set: SpillSet) -> u8 {
        if set.is_empty() {
            return 0;
        }
        let (first, len) = self.of[fragment];
        let window = &self.sets[first as usize..][..usize::from(len)];
        let named = window.iter().position(|known| *known == set);
        named.map_or(0, |at| at as u8 + 1)
    }
}

/// The sets that `rows` need, but the empty one.
fn collect(rows: &[PcRow], sets: &mut Vec<SpillSet>) {
    for row in rows {
        if !row.spilled.is_empty() && !sets.contains(&row.spilled) {
            sets.push(row.spilled);
        }
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

    /// Numbers of the sets that a window at `first` may have, of `all`.
    pub(crate) fn range(first: u32, all: u32) -> core::ops::Range<u32> {
        let first = first.min(all);
        first..all.min(first.saturating_add(MOST as u32))
    }

    /// The set that a row names by `number`; `None`: there is none, or it makes no sense.
    pub(crate) fn set(self, number: u8) -> Option<SpillSet> {
        let Some(at) = usize::from(number).checked_sub(1) else {
            return Some(SpillSet::NONE);
        };
        let len = SectionId::Spills.record_len();
        let bytes = self.sets.get(at * len..(at + 1) * len)?;
        SpillSet::from_bytes(bytes.try_into().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppin_abi::spills::Spill;

    fn row(mask: u8) -> PcRow {
        PcRow {
            spilled: SpillSet::at_home(mask),
            ..PcRow::default()
        }
    }

    fn bytes(table: &SpillTable) -> Vec<u8> {
        table.sets.iter().flat_map(|set| set.to_bytes()).collect()
    }

    #[test]
    fn windows_that_are_alike_are_one() {
        let (rcx, two) = (Spill::Rcx.bit(), Spill::Rcx.bit() | Spill::Rax.bit());
        let mut table = SpillTable::default();
        for rows in [
            &[row(rcx), row(0)][..],
            &[row(0)],
            &[row(two), row(rcx)],
            &[row(rcx)],
        ] {
            table.add(rows).unwrap();
        }
        assert_eq!(table.sets.len(), 3);
        let firsts: Vec<u32> = (0..4).map(|n| table.first(n)).collect();
        assert_eq!(firsts, [0, 0, 1, 0]);
    }

    #[test]
    fn sets_come_back() {
        let sets = [0, 2, 3, 2, 0x41].map(SpillSet::at_home);
        let mut table = SpillTable::default();
        table.add(&[row(4)]).unwrap();
        table
            .add(&[row(0), row(2), row(3), row(2), row(0x41)])
            .unwrap();
        let bytes = bytes(&table);
        let window = Window::new(&bytes[8 * table.first(1) as usize..]);
        for set in sets {
            assert_eq!(window.set(table.number(1, set)), Some(set));
        }
    }

    #[test]
    fn numbers_behind_the_table_and_damaged_sets_are_refused() {
        let sets = [[0, 2, 0, 0, 0, 0, 0, 0], [5, 0, 0, 0, 0, 0, 0, 0]].concat();
        let window = Window::new(&sets);
        assert!(window.set(0).is_some() && window.set(1).is_some());
        assert_eq!(window.set(2), None, "rsp");
        assert_eq!(window.set(3), None);
        assert_eq!(Window::range(7, 5), 5..5);
        assert_eq!(Window::range(2, 1000), 2..256);
    }

    #[test]
    fn more_sets_than_a_byte_counts_do_not_fit() {
        let slots = || (0..8).filter_map(ppin_abi::spills::SpillSlot::new);
        let pairs = slots().flat_map(|a| slots().map(move |b| (a, b)));
        let sets = pairs
            .filter(|(a, b)| a != b)
            .flat_map(|(a, b)| (0..4).map(move |n| SpillSet::NONE.with(a, n).with(b, 15 - n)));
        let rows: Vec<PcRow> = sets
            .map(|spilled| PcRow {
                spilled,
                ..PcRow::default()
            })
            .collect();
        let mut table = SpillTable::default();
        assert_eq!(rows.len(), 224);
        assert!(table.add(&rows).is_some());
        let more = rows.iter().map(|row| PcRow {
            spilled: SpillSet::NONE.with(slots().next().unwrap(), row.spilled.iter().count() as u8),
            ..*row
        });
        let others = (0..16)
            .filter(|n| *n != 4)
            .flat_map(|n| slots().map(move |slot| SpillSet::NONE.with(slot, n)));
        let others = others.map(|spilled| PcRow {
            spilled,
            ..PcRow::default()
        });
        let all: Vec<PcRow> = rows.iter().copied().chain(more).chain(others).collect();
        assert_eq!(table.add(&all), None);
    }
}
