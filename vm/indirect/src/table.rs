//! The indirect-branch table: app address to cache address, for the lookup routine of emitted
//! code (`ppin_process::gate`).
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

use crate::landings::Landings;
use crate::near::{self, NearTables};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::area::Area;
use ppin_os::mem;
use ppin_os::place;

/// Address of the first entry of the process's table. The lookup routine reads it.
pub static TABLE: AtomicU64 = AtomicU64::new(0);

/// Multiplier of the hash: `low half of the address * GOLDEN >> SHIFT`. Neighbouring
/// targets must not form runs, which long probes would follow.
pub const GOLDEN: i32 = 0x9e37_79b1_u32 as i32;
/// See [`GOLDEN`].
pub const SHIFT: u32 = 10;

/// Entries of the first table. It is written to all over, so a program that has few targets must not
/// touch many pages for them.
const FIRST: u64 = 256;
/// Target of a removed entry: the lookup misses.
const NOWHERE: u64 = 0;
/// Entries behind the mask's reach, so that a probe needs no wrap.
const TAIL: u64 = 64;

/// The writer's side of a table; under the VM lock.
#[derive(Debug)]
pub struct IblTable {
    /// Where lookups find the address of the first entry.
    current: &'static AtomicU64,
    misses: u64,
    /// The threads' own tables, which say the same of fewer targets.
    near: NearTables,
}

fn cell(addr: u64) -> &'static AtomicU64 {
    // SAFETY: tables are never unmapped, and addresses come from the table's layout.
    unsafe { AtomicU64::from_ptr(addr as *mut u64) }
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

/// Whether the entry leads from `tag` to `target`.
fn leads(entry: u64, tag: u64, target: u64) -> bool {
    cell(entry + 8).load(Ordering::Relaxed) == target && cell(entry).load(Ordering::Relaxed) == tag
}

/// Maps an empty table of `entries` (a power of two).
fn create(entries: u64) -> Option<u64> {
    let len = 16 + 16 * (entries + TAIL + 1);
    let base = place::anywhere(len, mem::RW).ok()?;
    cell(base).store(entries - 1, Ordering::Relaxed);
    Some(base + 16)
}

/// All cache addresses.
const ALL: Range<u64> = 1..u64::MAX;

impl IblTable {
    /// An empty table, whose address lookups find in `current`: in a process, [`TABLE`]. Branches in
    /// line arrive at `landings`.
    ///
    /// # Panics
    /// Without memory for it.
    #[must_use]
    pub fn new(current: &'static AtomicU64, landings: Landings) -> Self {
        let table = create(FIRST).expect("no memory for the indirect-branch table");
        current.store(table, Ordering::Release);
        Self {
            current,
            misses: 0,
            near: NearTables::new(landings),
        }
    }

    fn table(&self) -> u64 {
        self.current.load(Ordering::Acquire)
    }

    /// Lets indirect branches to app address `tag` go to cache address `target`; whether they did
    /// not yet.
    pub fn insert(&mut self, tag: u64, target: u64) -> bool {
        self.misses += 1;
        let known = probe(self.table(), tag).is_some_and(|entry| leads(entry, tag, target));
        if !known {
            self.prefill(tag, target);
        }
        !known
    }

    /// The same for a branch that has not been seen in this run.
    pub fn prefill(&mut self, tag: u64, target: u64) {
        self.make_room(1);
        self.put(self.table(), tag, target);
    }

    /// Makes the table large enough for `more` targets.
    pub fn make_room(&mut self, more: u64) {
        let now = self.table();
        let entries = mask(now) + 1;
        let needed = (cell(now - 8).load(Ordering::Relaxed) + more) * 4 / 3 + 1;
        if needed > entries {
            self.grow(needed.next_power_of_two());
        }
    }

    fn put(&mut self, table: u64, tag: u64, target: u64) {
        let Some(entry) = probe(table, tag) else {
            return;
        };
        let (key, count) = (cell(entry), cell(table - 8));
        cell(entry + 8).store(target, Ordering::Release);
        // (Nobody else writes. Each operation of more than one step would wait for all that was written
        // before: starts put thousands of targets there.)
        if key.load(Ordering::Relaxed) == 0 {
            key.store(tag, Ordering::Release);
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    fn grow(&mut self, entries: u64) {
        let old = self.table();
        let Some(new) = create(entries) else { return };
        for entry in live(old) {
            self.put(new, entry.0, entry.1);
        }
        self.current.store(new, Ordering::Release);
    }

    /// Makes branches to app addresses in `start .. end` miss.
    fn remove(&mut self, start: u64, end: u64) {
        let table = self.table();
        for i in 0..mask(table) + TAIL {
            let tag = cell(table + 16 * i).load(Ordering::Relaxed);
            if (start..end).contains(&tag) {
                cell(table + 16 * i + 8).store(NOWHERE, Ordering::Relaxed);
            }
        }
    }

    /// A thread begins, whose own table is of zeroes, or known already.
    ///
    /// # Safety
    /// The area stays mapped until [`IblTable::remove_thread`], and its table is of zeroes if it is
    /// not known: what lies there is jumped to.
    pub unsafe fn add_thread(&mut self, area: *const Area) {
        // SAFETY: the caller's promise.
        let area: &'static Area = unsafe { &*area };
        self.near.add(area);
    }

    /// A thread ends.
    pub fn remove_thread(&mut self, area: &Area) {
        self.near.remove(area);
    }

    /// This process is a forked child, whose only thread has `area`.
    pub fn keep_only_thread(&mut self, area: &Area) {
        self.near.keep_only(area);
    }

    /// Lets the thread with `area`, which is in the VM, find `target` for app address `tag` by
    /// itself. It arrives at `arrival`, where the fragment has room for that. By what power of 2 it shall wait longer than usual before it brings the next one.
    pub fn bring_near(&mut self, area: &Area, tag: u64, target: u64, arrival: Option<u64>) -> u32 {
        self.near.put(area, tag, target, arrival)
    }

    /// The same at the start of a process, while its only thread is in the VM: other threads might
    /// be looking.
    pub fn prefill_near(&mut self, tag: u64, target: u64, arrival: Option<u64>) {
        self.near.prefill(tag, target, arrival);
    }

    /// Whether a thread finds `target` for app address `tag` by itself.
    pub fn is_near(&self, tag: u64, target: u64) -> bool {
        self.near.knows(tag, target)
    }

    /// Makes the branch to app address `tag` miss, if it led to `target`.
    pub fn remove_one(&mut self, tag: u64, target: u64) {
        self.near.forget(tag, target);
        if let Some(entry) = probe(self.table(), tag)
            && leads(entry, tag, target)
        {
            cell(entry + 8).store(NOWHERE, Ordering::Relaxed);
        }
    }

    /// No return comes to cache addresses in `start .. end` any more.
    pub fn forget_returns(&self, start: u64, end: u64) {
        self.near.forget_returns(start..end);
    }

    /// No return of the thread with `area` comes to the cache any more, until it has called again.
    pub fn forget_returns_of(&self, area: &Area) {
        near::forget_returns(area, &ALL);
    }

    /// Makes every branch miss.
    pub fn clear(&mut self) {
        self.near.clear();
        self.near.forget_returns(ALL);
        self.remove(1, u64::MAX);
    }

    /// Where branches to app address `tag` go, if they are known.
    pub fn target_of(&self, tag: u64) -> Option<u64> {
        let entry = probe(self.table(), tag)?;
        let known = cell(entry).load(Ordering::Relaxed) == tag;
        let target = cell(entry + 8).load(Ordering::Relaxed);
        (known && target != NOWHERE).then_some(target)
    }

    /// App addresses that indirect branches reach, and where they go.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u64)> {
        live(self.table())
    }

    /// Insertions so far.
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
mod tests;
