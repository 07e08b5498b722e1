//! Links from and to persisted code, by their slots.

use super::Bound;
use crate::cache::CodeCache;
use alloc::vec::Vec;
use core::ops::Range;

/// Links from or to persisted code, in the order of their slots: the address of the slot, and of the entry that
/// it leads to.
pub(super) struct LinksOfUnits(Vec<(u64, u64)>);

impl LinksOfUnits {
    /// Those of `unit`.
    pub(super) fn of(&self, unit: &Bound) -> impl Iterator<Item = (u64, u64)> {
        self.within(unit.span())
    }

    /// Those of these slots.
    pub(super) fn within(&self, slots: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
        let before = |addr: u64| self.0.partition_point(|(slot, _)| *slot < addr);
        self.0[before(slots.start)..before(slots.end)]
            .iter()
            .copied()
    }
}

impl CodeCache {
    /// Links from and to units. Most others lead from fresh code to fresh code, which is kept together.
    pub(super) fn links_of_units(&self) -> LinksOfUnits {
        let mut spans: Vec<Range<u64>> = self.units.all().map(Bound::span).collect();
        spans.sort_unstable_by_key(|span| span.start);
        let is_of_unit = |addr: u64| {
            let behind = spans.partition_point(|span| span.start <= addr);
            behind > 0 && addr < spans[behind - 1].end
        };
        let is_wanted = |(slot, entry): &(u64, u64)| is_of_unit(*slot) || is_of_unit(*entry);
        let links = self.fresh.links();
        let mut links: Vec<_> = links.filter(is_wanted).collect();
        links.sort_unstable();
        LinksOfUnits(links)
    }
}

impl Bound {
    /// Cache addresses where its file is mapped.
    fn span(&self) -> Range<u64> {
        self.addr..self.addr + self.geometry.file_len
    }
}
