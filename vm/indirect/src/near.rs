//! The threads' own tables, which emitted code reads without a lock: of indirect jumps and calls
//! ([`ppin_abi::area::Area::near`]), and of where calls are returned to.
//!
//! Only its own thread adds to a table, while it is in the VM. An entry is one word, where the branch
//! arrives, so others may take it away at any time. That is code before a fragment, which looks
//! whether the branch goes to it (`ppin_relocator::Fragment::entry`), or a landing ([`super::landings`])
//! that does the same for fragments without such code.
//!
//! The tables of some threads are written to as a whole. Where there are more of them, these use
//! little of theirs: a page of zeroes is filled when a branch has found one of them
//! (`ppin_process::gate`), or when the first landing is put there.

use crate::landings::Landings;
use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::area::{Area, Entry, NEAR, NEAR_ENTRIES, near_index};
use ppin_abi::thread::BEFORE;
use ppin_os::mem::PAGE;

/// The tables of all threads.
#[derive(Debug)]
pub(crate) struct NearTables {
    threads: Vec<Known>,
    landings: Landings,
}

#[derive(Debug)]
struct Known {
    area: &'static Area,
    /// Something has been put into it.
    used: bool,
    /// How often of late what was put there has taken the place of something else.
    crowding: u32,
}

/// Threads that there may be before tables are filled page by page. A fault for each page takes
/// longer than to fill all, but thousands of threads would take 64 KiB each.
const FEW: usize = 64;

/// Highest value of [`Known::crowding`].
const CROWDED: u32 = 10;

impl NearTables {
    /// No tables yet; branches will arrive at `landings`.
    pub(crate) const fn new(landings: Landings) -> Self {
        Self {
            threads: Vec::new(),
            landings,
        }
    }

    /// A new table, of zeroes. Nothing is done if it is known.
    pub(crate) fn add(&mut self, area: &'static Area) {
        if self.is_known(area) {
            return;
        }
        if self.threads.len() < FEW {
            fill(area, 0..NEAR_ENTRIES);
        }
        self.threads.push(Known {
            area,
            used: false,
            crowding: 0,
        });
    }

    fn is_known(&self, area: &Area) -> bool {
        let mut threads = self.threads.iter();
        threads.any(|known| core::ptr::eq(known.area, area))
    }

    /// The tables in `area` are about to go.
    pub(crate) fn remove(&mut self, area: &Area) {
        self.threads
            .retain(|known| !core::ptr::eq(known.area, area));
    }

    /// All others have gone.
    pub(crate) fn keep_only(&mut self, area: &Area) {
        self.threads.retain(|known| core::ptr::eq(known.area, area));
    }

    /// Lets jumps of the thread that `area` belongs to go from `pc` to `target`. By what power of 2
    /// the thread shall wait longer than usual before it brings the next one: where two often take
    /// the place of each other, the one that stays outside is looked up faster than brought in.
    /// They arrive at `arrival`, before the fragment, or at a landing.
    pub(crate) fn put(&mut self, area: &Area, pc: u64, target: u64, arrival: Option<u64>) -> u32 {
        let place = self.place(pc, target, arrival);
        let mut tables = self.threads.iter_mut();
        let Some(known) = tables.find(|known| core::ptr::eq(known.area, area)) else {
            return 0;
        };
        known.crowding = match put(known, pc, place) {
            true => (known.crowding + 1).min(CROWDED),
            false => 0,
        };
        known.crowding
    }

    /// Where branches to `pc` arrive that go on at `target`, if there is a place.
    fn place(&mut self, pc: u64, target: u64, arrival: Option<u64>) -> Option<u64> {
        arrival.or_else(|| self.landings.lead(pc, target))
    }

    /// Lets jumps of the only thread, which is in the VM, go from `pc` to `target`. With more threads
    /// nothing is done.
    pub(crate) fn prefill(&mut self, pc: u64, target: u64, arrival: Option<u64>) {
        if self.threads.len() == 1 {
            let place = self.place(pc, target, arrival);
            put(&mut self.threads[0], pc, place);
        }
    }

    /// Whether jumps of some thread to `pc`, which go on at `target`, are not looked up elsewhere.
    pub(crate) fn knows(&self, pc: u64, target: u64) -> bool {
        let landing = self.landings.of(pc);
        self.used().any(|area| leads(area, pc, target, landing))
    }

    /// Jumps to `pc`, which went on at `target`, are looked up elsewhere.
    pub(crate) fn forget(&self, pc: u64, target: u64) {
        let landing = self.landings.of(pc);
        for area in self.used().filter(|area| leads(area, pc, target, landing)) {
            area.near[near_index(pc)].store(nothing(area), Ordering::Relaxed);
        }
    }

    /// All are.
    pub(crate) fn clear(&mut self) {
        self.used().for_each(empty);
        self.threads.iter_mut().for_each(|known| known.used = false);
    }

    fn used(&self) -> impl Iterator<Item = &'static Area> {
        let used = self.threads.iter().filter(|known| known.used);
        used.map(|known| known.area)
    }

    /// No return comes to `code` any more, which is about to go.
    pub(crate) fn forget_returns(&self, code: Range<u64>) {
        let areas = self.threads.iter().map(|known| known.area);
        areas.for_each(|area| forget_returns(area, &code));
    }
}

/// No return of the thread with `area` comes to `code` any more.
pub(crate) fn forget_returns(area: &Area, code: &Range<u64>) {
    let unpaired = area.entry[Entry::Unpaired as usize];
    let goes = |entry: &&AtomicU64| code.contains(&entry.load(Ordering::Relaxed));
    // Entries that say nothing are not written to: their pages stay untouched.
    for entry in area.returns.iter().filter(goes) {
        entry.store(unpaired, Ordering::Relaxed);
    }
}

/// Lets jumps of the table's thread to `pc` arrive at `place`; whether another had to go, or there is
/// no place for it.
fn put(known: &mut Known, pc: u64, place: Option<u64>) -> bool {
    let Some(place) = place else {
        return true;
    };
    known.used = true;
    ready(known.area, near_index(pc));
    let entry = &known.area.near[near_index(pc)];
    // (Not at once, which would wait for all that was written before: starts put hundreds there.)
    let before = entry.load(Ordering::Relaxed);
    entry.store(place, Ordering::Relaxed);
    before != place && before != nothing(known.area)
}

/// Fills the page of entry `index` if it is one of zeroes; whether it was.
pub fn ready(area: &Area, index: usize) -> bool {
    let zero = area.near[index].load(Ordering::Relaxed) == 0;
    if zero {
        fill(area, page_of(index));
    }
    zero
}

/// Entries in the page of entry `index`.
fn page_of(index: usize) -> Range<usize> {
    const ENTRIES: usize = PAGE as usize / 8;
    const _: () = assert!(((BEFORE + NEAR) as u64).is_multiple_of(PAGE));
    const _: () = assert!(NEAR_ENTRIES.is_multiple_of(ENTRIES));
    let start = index / ENTRIES * ENTRIES;
    start..start + ENTRIES
}

/// Where jumps to `pc` arrive.
fn entry(area: &Area, pc: u64) -> u64 {
    area.near[near_index(pc)].load(Ordering::Relaxed)
}

/// Whether jumps to `pc` arrive at its `landing`, or before the fragment that is entered at `target`.
fn leads(area: &Area, pc: u64, target: u64, landing: Option<u64>) -> bool {
    let at = entry(area, pc);
    let before = target.wrapping_sub(at);
    landing == Some(at) || (1..=u64::from(u8::MAX)).contains(&before)
}

/// What entries lead to that say nothing.
fn nothing(area: &Area) -> u64 {
    area.entry[Entry::NotNear as usize]
}

fn fill(area: &Area, entries: Range<usize>) {
    let nothing = nothing(area);
    for entry in &area.near[entries] {
        entry.store(nothing, Ordering::Relaxed);
    }
}

/// Pages of zeroes stay so.
fn empty(area: &Area) {
    let nothing = nothing(area);
    for entry in &area.near {
        if entry.load(Ordering::Relaxed) != 0 {
            entry.store(nothing, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::landings::tests::landings;
    use alloc::boxed::Box;
    use core::mem::MaybeUninit;

    const NOT_NEAR: u64 = 0x6000;

    /// Addresses of the same place.
    const SAME_PLACE: [u64; 2] = [0x1000, 0x1000 + 0x1_0000];

    fn table() -> &'static Area {
        let area: Box<MaybeUninit<Area>> = Box::new_zeroed();
        // SAFETY: it consists of integers.
        let mut area = unsafe { area.assume_init() };
        area.entry[Entry::NotNear as usize] = NOT_NEAR;
        Box::leak(area)
    }

    fn tables() -> NearTables {
        NearTables::new(landings(64))
    }

    impl NearTables {
        /// Where emitted code goes on.
        fn found(&self, area: &Area, pc: u64) -> Option<u64> {
            let entry = entry(area, pc);
            (entry != NOT_NEAR && entry != 0)
                .then(|| self.landings.leads(entry, pc))
                .flatten()
        }
    }

    #[test]
    fn nothing_is_found_in_an_empty_table() {
        let (mut tables, own) = (tables(), table());
        tables.add(own);
        for pc in (0..2 * NEAR_ENTRIES as u64).chain([u64::MAX]) {
            assert_eq!(entry(own, pc), NOT_NEAR);
            assert!(!tables.knows(pc, 7));
        }
    }

    #[test]
    fn later_tables_are_filled_page_by_page() {
        let (mut tables, own) = (tables(), table());
        (0..FEW).for_each(|_| tables.add(table()));
        tables.add(own);
        let filled = || -> Vec<usize> {
            let full = |n: &usize| own.near[*n].load(Ordering::Relaxed) != 0;
            (0..NEAR_ENTRIES).filter(full).collect()
        };
        assert!(filled().is_empty());
        assert!(ready(own, 511) && filled().into_iter().eq(0..512));
        assert!(!ready(own, 0));
        tables.put(own, 512, 7, None);
        assert!(filled().into_iter().eq(0..1024));
        assert!(ready(own, NEAR_ENTRIES - 1));
        assert_eq!(filled().len(), 1536);
        tables.clear();
        assert_eq!(filled().len(), 1536, "the others stay untouched");
    }

    #[test]
    fn what_was_put_there_is_found_by_its_own_address_only() {
        let (mut tables, own, other) = (tables(), table(), table());
        tables.add(own);
        tables.add(other);
        let [one, two] = SAME_PLACE;
        tables.put(own, one, 7, None);
        assert_eq!(tables.found(own, one), Some(7));
        assert_eq!(
            (tables.found(own, two), tables.found(other, one)),
            (None, None)
        );
        assert!(tables.knows(one, 7) && !tables.knows(two, 7));
        tables.put(own, two, 8, None);
        assert_eq!(
            (tables.found(own, one), tables.found(own, two)),
            (None, Some(8))
        );
    }

    #[test]
    fn where_entries_fight_for_a_place_they_wait_longer() {
        let (mut tables, own) = (tables(), table());
        tables.add(own);
        let [one, two] = SAME_PLACE;
        assert_eq!(tables.put(own, one, 7, None), 0);
        assert_eq!(tables.put(own, one, 9, None), 0, "its own place");
        for fights in 1..20 {
            let pc = [one, two][(fights % 2) as usize];
            assert_eq!(tables.put(own, pc, 8, None), fights.min(CROWDED));
        }
        assert_eq!(tables.put(own, one + 1, 9, None), 0, "a neighbour");
    }

    #[test]
    fn those_without_a_landing_stay_outside() {
        let (mut tables, own) = (NearTables::new(landings(1)), table());
        tables.add(own);
        assert_eq!(tables.put(own, 0x1000, 7, None), 0);
        assert_eq!(tables.put(own, 0x2000, 8, None), 1);
        assert_eq!(tables.found(own, 0x1000), Some(7));
        assert!(!tables.knows(0x2000, 8));
    }

    #[test]
    fn what_is_forgotten_is_not_found_in_any_table() {
        let (mut tables, own, other) = (tables(), table(), table());
        for table in [own, other] {
            tables.add(table);
            tables.put(table, 0x1000, 7, None);
            tables.put(table, 0x2001, 9, None);
        }
        tables.forget(0x1000, 7);
        tables.forget(0x1_2001, 9);
        for table in [own, other] {
            let found = [0x1000, 0x2001].map(|pc| tables.found(table, pc));
            assert_eq!(found, [None, Some(9)]);
        }
        tables.clear();
        assert_eq!(
            (entry(own, 0x2001), entry(other, 0x2001)),
            (NOT_NEAR, NOT_NEAR)
        );
    }

    #[test]
    fn who_has_read_an_entry_still_arrives() {
        let (mut tables, own) = (tables(), table());
        tables.add(own);
        tables.put(own, 0x1000, 7, None);
        let landing = entry(own, 0x1000);
        tables.clear();
        assert_eq!(tables.landings.leads(landing, 0x1000), Some(7));
    }

    #[test]
    fn jumps_arrive_before_fragments_that_have_room_for_that() {
        let (mut tables, own) = (tables(), table());
        tables.add(own);
        tables.prefill(0x1000, 7, None);
        let landing = entry(own, 0x1000);
        tables.put(own, 0x1000, 0x7043, Some(0x7000));
        assert_eq!(entry(own, 0x1000), 0x7000);
        tables.forget(0x1000, 0x7143);
        assert!(tables.knows(0x1000, 0x7043), "another fragment has gone");
        tables.forget(0x1000, 0x7043);
        assert!(!tables.knows(0x1000, 0x7043));
        tables.prefill(0x1000, 9, None);
        assert_eq!(entry(own, 0x1000), landing, "it keeps its landing");
        tables.forget(0x1000, 9);
        tables.put(own, 0x1000, 0x7043, Some(0x7000));
        tables.clear();
        assert_eq!(entry(own, 0x1000), NOT_NEAR);
    }

    #[test]
    fn tables_that_have_gone_are_left_alone() {
        let (mut tables, own, other) = (tables(), table(), table());
        for table in [own, other] {
            tables.add(table);
            tables.put(table, 0x1000, 7, None);
        }
        tables.keep_only(own);
        tables.forget(0x1000, 7);
        let found = [own, other].map(|area| tables.found(area, 0x1000));
        assert_eq!(found, [None, Some(7)]);
        tables.remove(own);
        tables.put(own, 0x1000, 7, None);
        assert_eq!(tables.found(own, 0x1000), None);
    }

    #[test]
    fn returns_to_code_that_has_gone_are_looked_up() {
        let (mut tables, own, other) = (tables(), table(), table());
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
