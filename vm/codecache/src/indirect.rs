//! The indirect-branch table: app address to cache address, for the lookup
//! routine in `ppin_process::gate::ibl`.
//!
//! ```text
//! table - 16   mask: u64 (entries - 1)
//! table - 8    entries used: u64
//! table + 16*i tag: u64 (app address, 0: empty), target: u64 (cache address)
//! ...          one empty entry behind the last stops a probe that runs off it
//! ```
//! Lookups take no lock: a target is written before its tag, an entry keeps its tag for
//! ever (removed, it has no target: whoever has just read the tag must not find that of
//! another), and a table that is replaced stays mapped.

use core::sync::atomic::{AtomicU64, Ordering};
use ppin_os::mem;
use ppin_os::place;

/// Address of the current table's first entry. The lookup routine reads it.
pub static TABLE: AtomicU64 = AtomicU64::new(0);

/// Multiplier of the hash: `low half of the address * GOLDEN >> SHIFT`. Neighbouring
/// targets must not form runs, which long probes would follow.
pub const GOLDEN: i32 = 0x9e37_79b1_u32 as i32;
/// See [`GOLDEN`].
pub const SHIFT: u32 = 10;

const FIRST: u64 = 4096;
/// Target of a removed entry: the lookup misses.
const NOWHERE: u64 = 0;
/// Entries behind the mask's reach, so that a probe needs no wrap.
const TAIL: u64 = 64;

/// The writer's side; under the VM lock.
#[derive(Debug, Default)]
pub struct IblTable {
    misses: u64,
}

fn cell(addr: u64) -> &'static AtomicU64 {
    // SAFETY: tables are never unmapped, and addresses come from the table's layout.
    unsafe { AtomicU64::from_ptr(addr as *mut u64) }
}

fn table() -> u64 {
    TABLE.load(Ordering::Acquire)
}

fn mask(table: u64) -> u64 {
    cell(table - 16).load(Ordering::Relaxed)
}

/// Address of the entry for `tag`: its own, or the empty one where it belongs.
fn probe(table: u64, tag: u64) -> Option<u64> {
    let hash = (tag as u32).wrapping_mul(GOLDEN as u32) >> SHIFT;
    let start = u64::from(hash) & mask(table);
    let end = mask(table) + TAIL;
    (start..end).map(|i| table + 16 * i).find(|e| {
        let found = cell(*e).load(Ordering::Relaxed);
        found == tag || found == 0
    })
}

/// Maps an empty table of `entries` (a power of two).
fn create(entries: u64) -> Option<u64> {
    let len = 16 + 16 * (entries + TAIL + 1);
    let base = place::anywhere(len, mem::RW).ok()?;
    cell(base).store(entries - 1, Ordering::Relaxed);
    Some(base + 16)
}

impl IblTable {
    /// Maps the first table.
    ///
    /// # Panics
    /// Without memory for it.
    pub fn init() {
        let table = create(FIRST).expect("no memory for the indirect-branch table");
        TABLE.store(table, Ordering::Release);
    }

    /// Lets indirect branches to app address `tag` go to cache address `target`.
    pub fn insert(&mut self, tag: u64, target: u64) {
        self.misses += 1;
        self.prefill(tag, target);
    }

    /// The same for a branch that has not been seen in this run.
    pub fn prefill(&mut self, tag: u64, target: u64) {
        let now = table();
        if cell(now - 8).load(Ordering::Relaxed) * 2 > mask(now) {
            self.grow();
        }
        self.put(table(), tag, target);
    }

    fn put(&mut self, table: u64, tag: u64, target: u64) {
        let Some(entry) = probe(table, tag) else {
            return;
        };
        cell(entry + 8).store(target, Ordering::Release);
        if cell(entry).swap(tag, Ordering::Release) == 0 {
            cell(table - 8).fetch_add(1, Ordering::Relaxed);
        }
    }

    fn grow(&mut self) {
        let old = table();
        let entries = 4 * (mask(old) + 1);
        let Some(new) = create(entries) else { return };
        for entry in live(old) {
            self.put(new, entry.0, entry.1);
        }
        TABLE.store(new, Ordering::Release);
    }

    /// Makes branches to app addresses in `start .. end` miss.
    pub fn remove(&mut self, start: u64, end: u64) {
        let table = table();
        for i in 0..mask(table) + TAIL {
            let tag = cell(table + 16 * i).load(Ordering::Relaxed);
            if (start..end).contains(&tag) {
                cell(table + 16 * i + 8).store(NOWHERE, Ordering::Relaxed);
            }
        }
    }

    /// Makes the branch to app address `tag` miss, if it led to `target`.
    pub fn remove_one(&mut self, tag: u64, target: u64) {
        if let Some(entry) = probe(table(), tag)
            && cell(entry + 8).load(Ordering::Relaxed) == target
            && cell(entry).load(Ordering::Relaxed) == tag
        {
            cell(entry + 8).store(NOWHERE, Ordering::Relaxed);
        }
    }

    /// Makes every branch miss.
    pub fn clear(&mut self) {
        self.remove(1, u64::MAX);
    }

    /// Insertions so far.
    #[must_use]
    pub fn misses(&self) -> u64 {
        self.misses
    }
}

/// Entries of a table that lead into the cache.
fn live(table: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..mask(table) + TAIL)
        .map(move |i| table + 16 * i)
        .map(|e| {
            (
                cell(e).load(Ordering::Relaxed),
                cell(e + 8).load(Ordering::Relaxed),
            )
        })
        .filter(|(_, target)| *target != NOWHERE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(tag: u64) -> Option<u64> {
        let entry = probe(table(), tag)?;
        let known = cell(entry).load(Ordering::Relaxed) == tag;
        known.then(|| cell(entry + 8).load(Ordering::Relaxed))
    }

    /// Code that is written over and over is removed and found again as often.
    #[test]
    fn an_entry_is_used_again_for_its_address() {
        let mut ibl = IblTable::default();
        IblTable::init();
        for n in 1..100_000 {
            ibl.insert(0x40_0000, n);
            assert_eq!(found(0x40_0000), Some(n));
            ibl.remove_one(0x40_0000, n + 1);
            assert_eq!(found(0x40_0000), Some(n));
            ibl.remove_one(0x40_0000, n);
            assert_eq!(found(0x40_0000), Some(NOWHERE));
        }
        assert_eq!(mask(table()) + 1, FIRST);
        for n in 1..FIRST {
            ibl.insert(8 * n, n);
        }
        assert!(mask(table()) + 1 > FIRST);
        assert!((1..FIRST).all(|n| found(8 * n) == Some(n)));
        assert_eq!(found(0x40_0000), None);
        ibl.clear();
        assert_eq!(live(table()).count(), 0);
    }
}
