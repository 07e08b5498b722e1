use super::*;
use crate::landings::tests::landings;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A table of the test's own.
fn table() -> IblTable {
    IblTable::new(Box::leak(Box::new(AtomicU64::new(0))), landings(64))
}

impl IblTable {
    /// What the lookup routine finds: the target of `tag`, unless it misses.
    fn target(&self, tag: u64) -> Option<u64> {
        self.entry(tag).filter(|target| *target != NOWHERE)
    }

    /// The target in the entry of `tag`, if there is one.
    fn entry(&self, tag: u64) -> Option<u64> {
        let entry = probe(self.table(), tag)?;
        let known = cell(entry).load(Ordering::Relaxed) == tag;
        known.then(|| cell(entry + 8).load(Ordering::Relaxed))
    }

    fn used(&self) -> u64 {
        cell(self.table() - 8).load(Ordering::Relaxed)
    }
}

/// Code that is written over and over is removed and found again as often.
#[test]
fn an_entry_is_used_again_for_its_address() {
    let mut ibl = table();
    for n in 1..100_000 {
        ibl.insert(0x40_0000, n);
        assert_eq!(ibl.entry(0x40_0000), Some(n));
        ibl.remove_one(0x40_0000, n + 1);
        assert_eq!(ibl.entry(0x40_0000), Some(n));
        ibl.remove_one(0x40_0000, n);
        assert_eq!(ibl.entry(0x40_0000), Some(NOWHERE));
    }
    assert_eq!((mask(ibl.table()) + 1, ibl.used()), (FIRST, 1));
    assert_eq!(ibl.misses(), 99_999);
}

#[test]
fn a_table_that_fills_up_is_replaced_by_a_larger_one_without_what_was_removed() {
    let mut ibl = table();
    ibl.insert(0x40_0000, 1);
    ibl.remove_one(0x40_0000, 1);
    let before = ibl.table();
    for n in 1..FIRST {
        ibl.insert(8 * n, n);
    }
    assert_eq!(mask(ibl.table()) + 1, 2 * FIRST);
    assert!((1..FIRST).all(|n| ibl.target(8 * n) == Some(n)));
    assert_eq!(ibl.entry(0x40_0000), None);
    // Whoever was about to read the old one can.
    assert_eq!(mask(before) + 1, FIRST);
    ibl.clear();
    assert!(ibl.entries().next().is_none());
}

#[test]
fn two_tables_know_nothing_of_each_other() {
    let (mut one, other) = (table(), table());
    one.insert(8, 1);
    assert_eq!((one.target(8), other.target(8)), (Some(1), None));
}

/// Addresses whose hash is the last entry under the mask.
fn at_the_end() -> impl Iterator<Item = u64> {
    let last = |tag: &u64| {
        let hash = (*tag as u32).wrapping_mul(GOLDEN as u32) >> SHIFT;
        u64::from(hash) & (FIRST - 1) == FIRST - 1
    };
    (1..).filter(last)
}

#[test]
fn a_probe_that_runs_off_the_end_goes_on_in_the_tail() {
    let mut ibl = table();
    // Of one entry under the mask and the tail behind it the last is left out.
    let most = TAIL as usize;
    let tags: Vec<u64> = at_the_end().take(most + 1).collect();
    for (n, tag) in (1..).zip(&tags) {
        ibl.insert(*tag, n);
    }
    for (n, tag) in (1..).zip(&tags[..most]) {
        assert_eq!(ibl.target(*tag), Some(n));
    }
    // There is no room for more: they miss, and nothing else is harmed.
    assert_eq!(ibl.target(tags[most]), None);
    let behind = ibl.table() + 16 * (mask(ibl.table()) + TAIL);
    assert_eq!(cell(behind).load(Ordering::Relaxed), 0);
}

#[test]
fn what_earlier_runs_have_seen_is_no_miss() {
    let mut ibl = table();
    ibl.prefill(0x1000, 7);
    assert_eq!((ibl.target(0x1000), ibl.misses()), (Some(7), 0));
    ibl.insert(0x1000, 9);
    assert_eq!((ibl.target(0x1000), ibl.misses()), (Some(9), 1));
}

#[test]
fn a_range_of_addresses_is_removed() {
    let mut ibl = table();
    for n in 1..10 {
        ibl.insert(n, 100 + n);
    }
    ibl.remove(3, 6);
    let left = |n: &u64| ibl.target(*n) == Some(100 + n);
    assert_eq!((1..10).filter(left).collect::<Vec<_>>(), [1, 2, 6, 7, 8, 9]);
    assert_eq!((ibl.target(3), ibl.target(5)), (None, None));
}
