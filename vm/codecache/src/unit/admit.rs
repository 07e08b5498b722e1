//! Admission: what must hold before a group of persisted code runs, and what is done
//! to it then.

use super::bound::{Bound, Gate};
use crate::bundles::{Cells, InUnit};
use crate::figures::Figures;
use crate::landing;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::MAX_TRACE_BYTES;
use ppin_images::Home;
use ppin_indirect::IblTable;
use ppin_os::{mem, peek, time};
use ppin_persist::{
    CodeGroup, MovedUnit, Places, Reject, SlotValue, source_hash, start, unit_flag,
};

/// One group is admitted ahead of the one that is needed for each so many that are open before it, and at most so
/// many.
const BEFORE: u32 = 8;
const MOST_AHEAD: u32 = 15;

/// What is known of the app's bytes that groups were made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// They must be compared.
    Unknown,
    /// They have been compared, and a plan says which entries indirect branches reach.
    Same,
}

impl Bound {
    /// Admits the group of cache address `addr`; `false` if it must not run.
    pub(crate) fn admit_at(
        &mut self,
        addr: u64,
        image: Home<'_>,
        figures: &mut Figures,
        ibl: &mut IblTable,
    ) -> bool {
        let offset = addr - self.addr;
        if self.geometry.cold.contains(&offset) {
            return self.open_cold((offset - self.geometry.cold.start) as u32, image, figures);
        }
        if !self.geometry.hot.contains(&offset) {
            return false;
        }
        let Some(group) = self
            .unit
            .hot_group_at((offset - self.geometry.hot.start) as u32)
        else {
            return false;
        };
        match self.hot_gates[group.number as usize] {
            Gate::Open => true,
            Gate::Refused => false,
            Gate::Closed => self.open_run(group.number, image, figures, ibl),
        }
    }

    /// Admits every group, so that code of which some runs is one mapping.
    pub(crate) fn join(&mut self, image: Home<'_>, figures: &mut Figures, ibl: &mut IblTable) {
        if self.hot_gates.contains(&Gate::Open) {
            self.admit_all(image, figures, ibl);
        }
    }

    /// Admits every group, stubs included.
    pub(crate) fn admit_all(&mut self, image: Home<'_>, figures: &mut Figures, ibl: &mut IblTable) {
        for n in 0..self.unit.hot_groups() {
            let start = self
                .unit
                .hot_group(n)
                .map(|g| self.hot() + u64::from(g.offset));
            start.map(|at| self.admit_at(at, image, figures, ibl));
        }
        for n in 0..self.unit.cold_groups() {
            let start = self
                .unit
                .cold_group(n)
                .map(|g| self.cold() + u64::from(g.offset));
            start.map(|at| self.admit_at(at, image, figures, ibl));
        }
        self.settle_exits();
    }

    /// Admits group `first`, which is closed, and some behind it, if many before it run: code lies in the
    /// order in which it was first executed. (What is admitted in vain costs as much as what is needed, in
    /// this run and in all to come, since the plan takes it in.) Each is verified by itself; all become
    /// executable at once. Whether `first` may run.
    fn open_run(
        &mut self,
        first: u32,
        image: Home<'_>,
        figures: &mut Figures,
        ibl: &mut IblTable,
    ) -> bool {
        // (A run that is watched lets run what it needs, and nothing else.)
        let may = if self.planned.watched { 0 } else { MOST_AHEAD };
        let ahead = (self.open_before(first) / BEFORE).min(may);
        let mut behind = first + 1..first + 1 + ahead;
        let numbers = first..behind.find(|n| !self.has_run(*n)).unwrap_or(behind.end);
        self.open_groups(numbers, Source::Unknown, image, figures, ibl);
        self.hot_gates[first as usize] == Gate::Open
    }

    /// Admits the groups `numbers` up to the first that cannot be.
    pub(super) fn open_groups(
        &mut self,
        mut numbers: Range<u32>,
        source: Source,
        image: Home<'_>,
        figures: &mut Figures,
        ibl: &mut IblTable,
    ) {
        let started = time::ticks();
        if source == Source::Same {
            self.ask_for_slots(&numbers);
        }
        let cells = self.cells.len();
        let ready = core::iter::from_fn(|| self.prepare(numbers.next()?, source, image, figures));
        let ready: Vec<CodeGroup> = ready.collect();
        let ready = self.with_cells(ready, cells, image, figures);
        let opened = self.let_run(&ready, image);
        for group in &ready {
            self.conclude(group, opened, image, figures);
            if source == Source::Unknown && opened.is_ok() {
                self.prefill(group, image, ibl);
            }
        }
        figures.spent.relocate += time::ticks().saturating_sub(started);
    }

    /// Whether code of the group was executed in some run: what is only expected comes in no order.
    fn has_run(&self, number: u32) -> bool {
        let group = self.unit.hot_group(number);
        let mut codes = group.into_iter().flat_map(|group| group.fragments);
        codes.any(|code| {
            self.unit
                .info(code)
                .is_ok_and(|it| it.flags & unit_flag::ANTICIPATED == 0)
        })
    }

    /// Number of groups that are open directly before group `number`.
    fn open_before(&self, number: u32) -> u32 {
        let before = self.hot_gates[..number as usize].iter().rev();
        before.take_while(|gate| **gate == Gate::Open).count() as u32
    }

    /// Verifies a closed group and makes it fit its place; `None` if it is refused, or is none.
    fn prepare(
        &mut self,
        number: u32,
        source: Source,
        image: Home<'_>,
        figures: &mut Figures,
    ) -> Option<CodeGroup> {
        let group = self.unit.hot_group(number)?;
        if self.hot_gates[number as usize] != Gate::Closed {
            return None;
        }
        let ready = self
            .unready_stubs(&group.fragments, image)
            .and_then(|stubs| {
                if !start::has(&self.planned.sound, number) {
                    self.check_bytes(&group, &stubs)?;
                }
                match source {
                    Source::Same => figures.fragments_validated += group.fragments.len() as u64,
                    Source::Unknown => self.compare(&group, image, figures)?,
                }
                stubs
                    .iter()
                    .try_for_each(|cold| self.fix_cold(cold, image))?;
                self.fix_hot(&group, image, figures)
            });
        match ready {
            Ok(()) => Some(group),
            Err(e) => {
                self.refuse(number, e, image, figures);
                None
            }
        }
    }

    pub(super) fn refuse(
        &mut self,
        number: u32,
        why: Reject,
        image: Home<'_>,
        figures: &mut Figures,
    ) {
        figures.note(alloc::format!("{}: {why}", image.path()));
        self.damaged |= why.is_damage();
        self.stale |= why == Reject::Stale;
        self.hot_gates[number as usize] = Gate::Refused;
    }

    /// What follows from an attempt to let a prepared group run.
    fn conclude(
        &mut self,
        group: &CodeGroup,
        opened: Result<(), Reject>,
        image: Home<'_>,
        figures: &mut Figures,
    ) {
        if let Err(e) = opened {
            return self.refuse(group.number, e, image, figures);
        }
        self.hot_gates[group.number as usize] = Gate::Open;
        figures.code_bytes_reused += u64::from(group.len);
        figures.traces_reused += group.fragments.len() as u64;
        self.unlink_admitted(group, image, figures);
    }

    pub(super) fn group_bytes(&self, section: u64, group: &CodeGroup) -> &[u8] {
        let start = section + u64::from(group.offset);
        self.bytes(start..start + u64::from(group.len))
    }

    /// Checksums of the group, its tables, its slots and its `stubs`.
    fn check_bytes(&self, group: &CodeGroup, stubs: &[CodeGroup]) -> Result<(), Reject> {
        self.unit.check_hot(
            group.number,
            self.group_bytes(self.geometry.hot.start, group),
        )?;
        self.unit.check_tables_of(group)?;
        let within = |section: &Range<u64>, slots: Range<u32>| {
            let at = |offset: u32| section.start + u64::from(offset);
            self.bytes(at(slots.start)..at(slots.end))
        };
        let (unit, number, parts) = (&self.unit, group.number, &self.geometry);
        if let Some(slots) = unit.slot_group(number) {
            unit.check_slots(number, within(&parts.slots, slots))?;
        }
        if let Some(slots) = unit.exit_slot_group(number) {
            unit.check_exit_slots(number, within(&parts.exit_slots, slots))?;
        }
        stubs.iter().try_for_each(|cold| self.check_cold(cold))
    }

    /// Compares the app's own bytes with those that the group was made from.
    fn compare(
        &self,
        group: &CodeGroup,
        image: Home<'_>,
        figures: &mut Figures,
    ) -> Result<(), Reject> {
        /// So many fragments further on, their sources are asked for. Nobody has read them as data before.
        const AHEAD: usize = 4;
        let mut buffer = [0; MAX_TRACE_BYTES];
        let mut ahead = self.unit.sources(group)?.skip(AHEAD);
        for source in self.unit.sources(group)? {
            if let Some(next) = ahead.next() {
                peek::expect(next.head.at(image.base).0, u64::from(next.len));
            }
            figures.fragments_validated += 1;
            let start = source.head.at(image.base).0;
            if image.forbids(start, start + u64::from(source.len)) {
                return Err(Reject::Stale);
            }
            let app = buffer.get_mut(..source.len as usize).ok_or(Reject::Stale)?;
            let complete = peek::read(start, app) == app.len();
            if !complete || source_hash(app) != source.hash {
                return Err(Reject::Stale);
            }
        }
        Ok(())
    }

    /// Rebases the slots, and fixes the code if it lies elsewhere.
    fn fix_hot(
        &mut self,
        group: &CodeGroup,
        image: Home<'_>,
        figures: &mut Figures,
    ) -> Result<(), Reject> {
        self.rebase_slots(group, image, figures)?;
        if self.is_moved(image.base) {
            let start = self.hot() + u64::from(group.offset);
            let moved = MovedUnit::new(&self.unit, self.hot(), image.base);
            figures.relocations_applied +=
                u64::from(fix(start, group.len, |bytes| moved.fix_hot(group, bytes))?);
        }
        Ok(())
    }

    /// Lets groups that lie one behind the other run, with their stubs: later it might not be
    /// possible any more, as when the app has used up all mappings.
    fn let_run(&mut self, groups: &[CodeGroup], image: Home<'_>) -> Result<(), Reject> {
        let (Some(first), Some(last)) = (groups.first(), groups.last()) else {
            return Ok(());
        };
        let fragments = first.fragments.start..last.fragments.end;
        let start = self.hot() + u64::from(first.offset);
        let end = self.hot() + u64::from(last.offset) + u64::from(last.len);
        // With the first group the tables before it, which nothing leads to: a mapping less.
        let start = if first.offset == 0 { self.addr } else { start };
        let stubs = self.stubs_with(&fragments, image)?;
        match self.closed_stubs(&stubs) {
            // (Cells are written into code, which is writable then.)
            _ if self.executable && self.cells.is_empty() => {}
            // All groups of a small unit: a call less.
            Some(cold) if cold.start == end => make_executable(start, cold.end - start)?,
            Some(cold) => {
                make_executable(cold.start, cold.end - cold.start)?;
                make_executable(start, end - start)?;
            }
            None => make_executable(start, end - start)?,
        }
        self.note_open(&stubs);
        Ok(())
    }

    /// Slots stay as they are in the file until code is admitted that has some.
    fn open_slots(&mut self) -> Result<(), Reject> {
        let slots = self.geometry.slots.start..self.geometry.exit_slots.end;
        let (start, len) = (self.addr + slots.start, slots.end - slots.start);
        if !self.slots_open {
            // SAFETY: the unit reads tables only; slots are reached through raw pointers.
            unsafe { mem::protect(start, mem::page_up(len), mem::RW) }
                .map_err(|_| Reject::Forbidden)?;
            self.slots_open = true;
        }
        Ok(())
    }

    /// Asks for the slots of the groups `numbers`, all of which will be rebased. (They are read first: that would
    /// be a fault for each page, and the write another one.)
    fn ask_for_slots(&mut self, numbers: &Range<u32>) {
        let groups = numbers.clone().filter_map(|n| self.unit.slot_group(n));
        let [mut start, mut end] = [u32::MAX, 0];
        for group in groups {
            (start, end) = (start.min(group.start), end.max(group.end));
        }
        if end > start && self.open_slots().is_ok() {
            let slots = self.addr + self.geometry.slots.start;
            mem::ask_for(slots + u64::from(start), slots + u64::from(end));
        }
    }

    fn rebase_slots(
        &mut self,
        group: &CodeGroup,
        image: Home<'_>,
        figures: &mut Figures,
    ) -> Result<(), Reject> {
        let Some(range) = self.unit.slot_group(group.number) else {
            return Ok(());
        };
        self.open_slots()?;
        let (start, len) = (range.start / 8, u64::from(range.end - range.start) / 8);
        let first = self.addr + self.geometry.slots.start + u64::from(range.start);
        let places = Places {
            app: image.base.0,
            hot: self.hot(),
            landings: landing::difference(),
        };
        let rules = places.rules();
        // SAFETY: slots are mapped writable, and no code that uses these runs yet.
        let slots = unsafe { core::slice::from_raw_parts_mut(first as *mut u64, len as usize) };
        for (number, slot) in (start..).zip(slots) {
            *slot = match rules.rebase(*slot) {
                Some(value) => value,
                None => self.slot_value((group.number, number), *slot, image)?,
            };
        }
        figures.relocations_applied += len;
        Ok(())
    }

    /// What becomes of slot number `slot`, of hot group number `group`, which depends on more than
    /// places.
    fn slot_value(
        &mut self,
        (group, slot): (u32, u32),
        bits: u64,
        image: Home<'_>,
    ) -> Result<u64, Reject> {
        match SlotValue::decode(bits) {
            Some(SlotValue::ImageCounters) => Ok(image.counters),
            Some(SlotValue::Bundles(count)) => {
                let first = image.take_cells(count).ok_or(Reject::Cells)?;
                let cells = Cells { first, count };
                self.cells.push(InUnit { group, slot, cells });
                Ok(first)
            }
            _ => Err(Reject::Impossible),
        }
    }

    /// Indirect branches of earlier runs went to these: spare them the first miss.
    fn prefill(&self, group: &CodeGroup, image: Home<'_>, ibl: &mut IblTable) {
        for to in self.unit.indirect_targets(group).into_iter().flatten() {
            ibl.prefill(to.head.at(image.base).0, self.hot() + u64::from(to.hot));
        }
    }
}

/// Lets `write` change the app fields of code at `start`.
pub(super) fn fix(
    start: u64,
    len: u32,
    write: impl FnOnce(&mut [u8]) -> Result<u32, Reject>,
) -> Result<u32, Reject> {
    // SAFETY: the group is not running: it has no execute permission yet.
    unsafe { mem::protect(start, u64::from(len), mem::RW) }.map_err(|_| Reject::Forbidden)?;
    // SAFETY: writable now, and ours alone under the VM lock.
    write(unsafe { core::slice::from_raw_parts_mut(start as *mut u8, len as usize) })
}

pub(super) fn make_executable(start: u64, len: u64) -> Result<(), Reject> {
    // SAFETY: nobody writes to these groups from here on.
    unsafe { mem::protect(start, len, mem::RX) }.map_err(|_| Reject::Forbidden)
}
