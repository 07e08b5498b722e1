//! The threads' own tables of indirect jumps and calls ([`ppin_abi::area::Near`]), which emitted
//! code reads without a lock.
//!
//! Only its own thread adds to a table, while it is in the VM. So an entry whose tag has been read
//! keeps its target until the thread has gone there. Others take tags away.

use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use ppin_abi::area::{NEAR_ENTRIES, Near};

/// A thread's table.
type Table = [Near; NEAR_ENTRIES];

/// The tables of all threads.
#[derive(Debug, Default)]
pub(super) struct NearTables(Vec<Known>);

#[derive(Debug)]
struct Known {
    table: &'static Table,
    /// Something has been put into it. The pages of one that is empty stay untouched.
    used: bool,
}

impl NearTables {
    /// A new, empty table: only its first entry is marked as such.
    pub(super) fn add(&mut self, table: &'static Table) {
        free(table, 0);
        let used = false;
        self.0.push(Known { table, used });
    }

    /// `table` is about to go.
    pub(super) fn remove(&mut self, table: &Table) {
        self.0.retain(|known| !core::ptr::eq(known.table, table));
    }

    /// All others have gone.
    pub(super) fn keep_only(&mut self, table: &Table) {
        self.0.retain(|known| core::ptr::eq(known.table, table));
    }

    /// Lets jumps of the thread that `table` belongs to go from `pc` to `target`.
    pub(super) fn put(&mut self, table: &Table, pc: u64, target: u64) {
        let mut tables = self.0.iter_mut();
        let Some(known) = tables.find(|known| core::ptr::eq(known.table, table)) else {
            return;
        };
        known.used = true;
        let entry = &table[Near::index(pc)];
        entry.target.store(target, Ordering::Relaxed);
        entry.tag.store(Near::tag(pc), Ordering::Relaxed);
    }

    /// Jumps to `pc` are looked up elsewhere.
    pub(super) fn forget(&self, pc: u64) {
        let index = Near::index(pc);
        for table in self.used() {
            if table[index].tag.load(Ordering::Relaxed) == Near::tag(pc) {
                free(table, index);
            }
        }
    }

    /// All are.
    pub(super) fn clear(&mut self) {
        for table in self.used() {
            (0..NEAR_ENTRIES).for_each(|index| free(table, index));
        }
        self.0.iter_mut().for_each(|known| known.used = false);
    }

    fn used(&self) -> impl Iterator<Item = &'static Table> {
        let used = self.0.iter().filter(|known| known.used);
        used.map(|known| known.table)
    }
}

fn free(table: &Table, index: usize) {
    table[index]
        .tag
        .store(Near::no_tag(index), Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use core::sync::atomic::AtomicU64;

    fn table() -> &'static Table {
        let empty = || Near {
            tag: AtomicU64::new(0),
            target: AtomicU64::new(0),
        };
        Box::leak(Box::new(core::array::from_fn(|_| empty())))
    }

    /// What emitted code finds.
    fn found(table: &Table, pc: u64) -> Option<u64> {
        let entry = &table[Near::index(pc)];
        let same = entry.tag.load(Ordering::Relaxed).wrapping_add(pc) == 0;
        same.then(|| entry.target.load(Ordering::Relaxed))
    }

    #[test]
    fn nothing_is_found_in_an_empty_table() {
        let (mut tables, own) = (NearTables::default(), table());
        tables.add(own);
        for pc in (0..2 * NEAR_ENTRIES as u64).chain([u64::MAX]) {
            assert_eq!(found(own, pc), None);
        }
    }

    #[test]
    fn what_was_put_there_is_found_by_its_own_address_only() {
        let (mut tables, own, other) = (NearTables::default(), table(), table());
        tables.add(own);
        tables.add(other);
        let same_place = 0x1000 + 0x1_0000;
        tables.put(own, 0x1000, 7);
        assert_eq!(found(own, 0x1000), Some(7));
        assert_eq!((found(own, same_place), found(other, 0x1000)), (None, None));
        tables.put(own, same_place, 8);
        assert_eq!(
            (found(own, 0x1000), found(own, same_place)),
            (None, Some(8))
        );
    }

    #[test]
    fn what_is_forgotten_is_not_found_in_any_table() {
        let (mut tables, own, other) = (NearTables::default(), table(), table());
        for table in [own, other] {
            tables.add(table);
            tables.put(table, 0x1000, 7);
            tables.put(table, 0x2001, 9);
        }
        tables.forget(0x1000);
        tables.forget(0x1_2001);
        for table in [own, other] {
            assert_eq!(
                (found(table, 0x1000), found(table, 0x2001)),
                (None, Some(9))
            );
        }
        tables.clear();
        assert_eq!((found(own, 0x2001), found(other, 0x2001)), (None, None));
        assert_eq!((found(own, 0), found(own, 0x1000)), (None, None));
    }

    #[test]
    fn tables_that_have_gone_are_left_alone() {
        let (mut tables, own, other) = (NearTables::default(), table(), table());
        for table in [own, other] {
            tables.add(table);
            tables.put(table, 0x1000, 7);
        }
        tables.keep_only(own);
        tables.forget(0x1000);
        assert_eq!((found(own, 0x1000), found(other, 0x1000)), (None, Some(7)));
        tables.remove(own);
        tables.put(own, 0x1000, 7);
        assert_eq!(found(own, 0x1000), None);
    }
}
