//! The threads' own tables, which emitted code reads without a lock: of indirect jumps and calls
//! ([`ppin_abi::area::Area::near`]), and of where calls are returned to.
//!
//! Only its own thread adds to a table, while it is in the VM. So an entry whose tag has been read
//! keeps its target until the thread has gone there. Others take tags away.

use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::area::{Area, Entry, NEAR_WORDS, near_index, near_nothing, near_tag};

/// A thread's table.
type Table = [AtomicU64; NEAR_WORDS];

/// The tables of all threads.
#[derive(Debug, Default)]
pub(super) struct NearTables(Vec<Known>);

#[derive(Debug)]
struct Known {
    area: &'static Area,
    /// Something has been put into it. The pages of one that is empty stay untouched.
    used: bool,
    /// How often of late what was put there has taken the place of something else.
    crowding: u32,
}

/// Highest value of [`Known::crowding`].
const CROWDED: u32 = 10;

impl NearTables {
    /// A new, empty table: only its first entry is marked as such. Nothing is done if it is known.
    pub(super) fn add(&mut self, area: &'static Area) {
        if self.0.iter().any(|known| core::ptr::eq(known.area, area)) {
            return;
        }
        free(&area.near, 0);
        self.0.push(Known {
            area,
            used: false,
            crowding: 0,
        });
    }

    /// The tables in `area` are about to go.
    pub(super) fn remove(&mut self, area: &Area) {
        self.0.retain(|known| !core::ptr::eq(known.area, area));
    }

    /// All others have gone.
    pub(super) fn keep_only(&mut self, area: &Area) {
        self.0.retain(|known| core::ptr::eq(known.area, area));
    }

    /// Lets jumps of the thread that `area` belongs to go from `pc` to `target`. By what power of 2
    /// the thread shall wait longer than usual before it brings the next one: where two often take
    /// the place of each other, the one that stays outside is looked up faster than brought in.
    pub(super) fn put(&mut self, area: &Area, pc: u64, target: u64) -> u32 {
        let mut tables = self.0.iter_mut();
        let Some(known) = tables.find(|known| core::ptr::eq(known.area, area)) else {
            return 0;
        };
        known.used = true;
        known.crowding = match put(&area.near, pc, target) {
            true => (known.crowding + 1).min(CROWDED),
            false => 0,
        };
        known.crowding
    }

    /// Lets jumps of the only thread, which is in the VM, go from `pc` to `target`. With more threads
    /// nothing is done.
    pub(super) fn prefill(&mut self, pc: u64, target: u64) {
        if let [known] = &mut self.0[..] {
            known.used = true;
            put(&known.area.near, pc, target);
        }
    }

    /// Whether jumps of some thread to `pc` are not looked up elsewhere.
    pub(super) fn knows(&self, pc: u64) -> bool {
        let index = near_index(pc);
        self.used()
            .any(|table| table[index].load(Ordering::Relaxed) == near_tag(pc))
    }

    /// Jumps to `pc` are looked up elsewhere.
    pub(super) fn forget(&self, pc: u64) {
        let index = near_index(pc);
        for table in self.used() {
            if table[index].load(Ordering::Relaxed) == near_tag(pc) {
                free(table, index);
            }
        }
    }

    /// All are. Targets stay: their threads may have read the tags just before.
    pub(super) fn clear(&mut self) {
        for table in self.used() {
            let tags = (0..NEAR_WORDS).filter(|index| holds_tag(table, *index));
            tags.for_each(|index| free(table, index));
        }
        self.0.iter_mut().for_each(|known| known.used = false);
    }

    fn used(&self) -> impl Iterator<Item = &'static Table> {
        let used = self.0.iter().filter(|known| known.used);
        used.map(|known| &known.area.near)
    }

    /// No return comes to `code` any more, which is about to go.
    pub(super) fn forget_returns(&self, code: Range<u64>) {
        let areas = self.0.iter().map(|known| known.area);
        areas.for_each(|area| forget_returns(area, &code));
    }
}

/// No return of the thread with `area` comes to `code` any more.
pub(super) fn forget_returns(area: &Area, code: &Range<u64>) {
    let unpaired = area.entry[Entry::Unpaired as usize];
    // Entries that say nothing are not written to: their pages stay untouched.
    for entry in &area.returns {
        if code.contains(&entry.load(Ordering::Relaxed)) {
            entry.store(unpaired, Ordering::Relaxed);
        }
    }
}

/// Puts the entry of `pc` into its thread's table; whether another had to go: the one with its
/// place, or a neighbour that shares a word with it. A target that would be the tag of the address
/// in its place stays outside.
fn put(table: &Table, pc: u64, target: u64) -> bool {
    let index = near_index(pc);
    let alias = near_tag(target);
    if near_index(alias) == index + 1 {
        return true;
    }
    let tag = near_tag(pc);
    let itself = table[index].load(Ordering::Relaxed) == tag;
    let taken = !itself && holds_tag(table, index) || holds_tag(table, index + 1);
    let before = index.checked_sub(1).filter(|at| holds_tag(table, *at));
    if let Some(before) = before {
        free(table, before);
    }
    table[index + 1].store(target, Ordering::Relaxed);
    table[index].store(tag, Ordering::Relaxed);
    taken || before.is_some()
}

/// Whether the word is the tag of an address that has its place there. No target is.
fn holds_tag(table: &Table, index: usize) -> bool {
    let word = table[index].load(Ordering::Relaxed);
    near_index(near_tag(word)) == index && word != near_nothing(index)
}

fn free(table: &Table, index: usize) {
    table[index].store(near_nothing(index), Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use core::mem::MaybeUninit;

    fn table() -> &'static Area {
        let area: Box<MaybeUninit<Area>> = Box::new_zeroed();
        // SAFETY: it consists of integers.
        Box::leak(unsafe { area.assume_init() })
    }

    /// What emitted code finds.
    fn found(area: &Area, pc: u64) -> Option<u64> {
        let word = |index: usize| area.near[index].load(Ordering::Relaxed);
        let same = word(near_index(pc)).wrapping_add(pc) == 0;
        same.then(|| word(near_index(pc) + 1))
    }

    #[test]
    fn nothing_is_found_in_an_empty_table() {
        let (mut tables, own) = (NearTables::default(), table());
        tables.add(own);
        for pc in (0..2 * NEAR_WORDS as u64).chain([u64::MAX]) {
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
    fn where_entries_fight_for_a_place_they_wait_longer() {
        let (mut tables, own) = (NearTables::default(), table());
        tables.add(own);
        assert_eq!(tables.put(own, 0x1000, 7), 0);
        for fights in 1..20 {
            let pc = 0x1000 + 0x1_0000 * u64::from(fights % 2);
            assert_eq!(tables.put(own, pc, 8), fights.min(CROWDED));
        }
        assert_eq!(tables.put(own, 0x1f00, 9), 0);
        assert_eq!(tables.put(own, 0x1f01, 9), 1, "a neighbour");
        assert_eq!(tables.put(own, 0x1f00, 9), 2, "the other one");
        assert_eq!(tables.put(own, 0x1e00, 9), 0);
    }

    #[test]
    fn neighbours_exclude_each_other() {
        let (mut tables, own) = (NearTables::default(), table());
        tables.add(own);
        // (Its second byte makes it the last one.)
        let last = 0x1fe0;
        for pcs in [[0x1000, 0x1001], [0x1001, 0x1000], [last, last + 1]] {
            tables.clear();
            tables.put(own, pcs[0], 7);
            tables.put(own, pcs[1], 8);
            let kept = (pcs[0] == last).then_some(7);
            assert_eq!((found(own, pcs[0]), found(own, pcs[1])), (kept, Some(8)));
            tables.put(own, pcs[0], 9);
            assert_eq!(found(own, pcs[0]), Some(9));
        }
    }

    #[test]
    fn a_target_is_no_tag() {
        let (mut tables, own) = (NearTables::default(), table());
        tables.add(own);
        for target in [0x7f12_3456_7800_u64, 0x7f12_3456_efff] {
            tables.put(own, 0x1000, target);
            assert_eq!(found(own, target.wrapping_neg()), None);
        }
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
    fn who_has_read_a_tag_still_finds_the_target() {
        let (mut tables, own) = (NearTables::default(), table());
        tables.add(own);
        for pc in [0, 0x1000, 0x1fe0] {
            tables.put(own, pc, 0x7f12_3456_7800);
            tables.clear();
            assert_eq!(found(own, pc), None);
            let target = own.near[near_index(pc) + 1].load(Ordering::Relaxed);
            assert_eq!(target, 0x7f12_3456_7800);
        }
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

    #[test]
    fn returns_to_code_that_has_gone_are_looked_up() {
        let (mut tables, own, other) = (NearTables::default(), table(), table());
        for area in [own, other] {
            tables.add(area);
            for (entry, to) in area.returns.iter().zip([0x1000, 0x1fff, 0x2000, 0xfff]) {
                entry.store(to, Ordering::Relaxed);
            }
        }
        tables.forget_returns(0x1000..0x2000);
        for area in [own, other] {
            let unpaired = area.entry[Entry::Unpaired as usize];
            let left = [0, 1, 2, 3].map(|n: usize| area.returns[n].load(Ordering::Relaxed));
            assert_eq!(left, [unpaired, unpaired, 0x2000, 0xfff]);
        }
    }
}
