//! Admission: what must hold before a group of persisted code runs, and what is done
//! to it then.

use super::bound::{Bound, Gate};
use crate::figures::Figures;
use crate::image::Home;
use crate::indirect::IblTable;
use crate::landing;
use alloc::vec::Vec;
use ppin_abi::MAX_TRACE_BYTES;
use ppin_abi::context::Context;
use ppin_os::{mem, peek, time};
use ppin_persist::{CodeGroup, MovedUnit, Reject, SlotValue, source_hash, unit_flag};

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
            Gate::Closed => self.open_hot(&group, image, figures, ibl),
        }
    }

    /// Whether `addr` lies among the stubs.
    pub(crate) fn is_stub(&self, addr: u64) -> bool {
        self.geometry.cold.contains(&(addr - self.addr))
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
    }

    fn open_hot(
        &mut self,
        group: &CodeGroup,
        image: Home<'_>,
        figures: &mut Figures,
        ibl: &mut IblTable,
    ) -> bool {
        let started = time::ticks();
        let opened = self
            .check_hot(group, image, figures)
            .and_then(|()| self.run_stubs(group, image))
            .and_then(|()| self.run_hot(group, image, figures));
        let gate = match opened {
            Ok(()) => Gate::Open,
            Err(e) => {
                figures.note(alloc::format!("{}: {e}", image.path));
                self.damaged |= e.is_damage();
                Gate::Refused
            }
        };
        self.hot_gates[group.number as usize] = gate;
        if gate == Gate::Open {
            figures.traces_reused += group.fragments.len() as u64;
            self.prefill(group, image, ibl);
            self.unlink_admitted(group);
        }
        figures.spent.relocate += time::ticks().saturating_sub(started);
        gate == Gate::Open
    }

    fn group_bytes(&self, section: u64, group: &CodeGroup) -> &[u8] {
        let start = section + u64::from(group.offset);
        self.bytes(start..start + u64::from(group.len))
    }

    /// Checksums of the group, its tables, its slots and its stubs, then the app's own
    /// bytes.
    fn check_hot(
        &self,
        group: &CodeGroup,
        image: Home<'_>,
        figures: &mut Figures,
    ) -> Result<(), Reject> {
        self.unit.check_hot(
            group.number,
            self.group_bytes(self.geometry.hot.start, group),
        )?;
        self.unit.check_tables_of(group)?;
        if let Some(slots) = self.unit.slot_group(group.number) {
            let start = self.geometry.slots.start;
            self.unit.check_slots(
                group.number,
                self.bytes(start + u64::from(slots.start)..start + u64::from(slots.end)),
            )?;
        }
        for cold in self.cold_groups_of(group)? {
            self.check_cold(&cold)?;
        }
        let mut buffer = [0; MAX_TRACE_BYTES];
        for source in self.unit.sources(group)? {
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

    fn check_cold(&self, cold: &CodeGroup) -> Result<(), Reject> {
        if self.cold_open[cold.number as usize] {
            return Ok(());
        }
        self.unit.check_cold(
            cold.number,
            self.group_bytes(self.geometry.cold.start, cold),
        )
    }

    /// The cold groups that hold the stubs of a hot group's fragments.
    fn cold_groups_of(&self, group: &CodeGroup) -> Result<Vec<CodeGroup>, Reject> {
        let first = self.unit.info(group.fragments.start)?;
        let last = self.unit.info(group.fragments.end.saturating_sub(1))?;
        let number = |off: u32| self.unit.cold_group_at(off).map(|g| g.number);
        let (Some(start), Some(end)) = (
            number(first.cold.start),
            number(last.cold.end.saturating_sub(1)),
        ) else {
            return Ok(Vec::new());
        };
        Ok((start..=end)
            .filter_map(|n| self.unit.cold_group(n))
            .collect())
    }

    /// Rebases the slots, fixes the code if it lies elsewhere, and lets it run.
    fn run_hot(
        &mut self,
        group: &CodeGroup,
        image: Home<'_>,
        figures: &mut Figures,
    ) -> Result<(), Reject> {
        self.rebase_slots(group, image, figures)?;
        let start = self.hot() + u64::from(group.offset);
        if !self.geometry.fits(self.hot(), image.base) {
            let moved = MovedUnit::new(&self.unit, self.hot(), image.base);
            figures.relocations_applied +=
                u64::from(fix(start, group.len, |bytes| moved.fix_hot(group, bytes))?);
        }
        figures.code_bytes_reused += u64::from(group.len);
        self.let_run(start, group)
    }

    /// With the first group the tables before it, which nothing leads to: a mapping less.
    fn let_run(&self, start: u64, group: &CodeGroup) -> Result<(), Reject> {
        let before = if group.offset == 0 { self.addr } else { start };
        make_executable(before, (start - before) as u32 + group.len)
    }

    /// Slots stay as they are in the file until code is admitted that has some.
    fn open_slots(&mut self) -> Result<(), Reject> {
        let slots = &self.geometry.slots;
        let (start, len) = (self.addr + slots.start, slots.end - slots.start);
        if !self.slots_open {
            // SAFETY: the unit reads tables only; slots are reached through raw pointers.
            unsafe { mem::protect(start, mem::page_up(len), mem::RW) }
                .map_err(|_| Reject::Forbidden)?;
            self.slots_open = true;
        }
        Ok(())
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
        let start = self.addr + self.geometry.slots.start;
        for at in (start + u64::from(range.start)..start + u64::from(range.end)).step_by(8) {
            let cell = at as *mut u64;
            // SAFETY: slots are mapped writable, and no code that uses these runs yet.
            unsafe { cell.write(self.slot_value(cell.read(), image)?) };
            figures.relocations_applied += 1;
        }
        Ok(())
    }

    fn slot_value(&self, bits: u64, image: Home<'_>) -> Result<u64, Reject> {
        Ok(match SlotValue::decode(bits).ok_or(Reject::Impossible)? {
            SlotValue::App(off) => off.at(image.base).0,
            SlotValue::Landing(off) => landing::open_value(off.at(image.base).0),
            SlotValue::Cold(off) => self.cold() + u64::from(off),
            SlotValue::ImageCounters => image.counters,
        })
    }

    /// Lets the stubs at `offset` run: they were verified with the code that uses
    /// them.
    fn open_cold(&mut self, offset: u32, image: Home<'_>, figures: &mut Figures) -> bool {
        let Some(group) = self.unit.cold_group_at(offset) else {
            return false;
        };
        let opened = self
            .check_cold(&group)
            .and_then(|()| self.run_cold(&group, image));
        if let Err(e) = &opened {
            figures.note(alloc::format!("{}: {e}", image.path));
        }
        opened.is_ok()
    }

    /// With its code a group's stubs: later it might not be possible any more, as when the
    /// app has used up all mappings.
    fn run_stubs(&mut self, group: &CodeGroup, image: Home<'_>) -> Result<(), Reject> {
        for cold in self.cold_groups_of(group)? {
            self.run_cold(&cold, image)?;
        }
        Ok(())
    }

    fn run_cold(&mut self, group: &CodeGroup, image: Home<'_>) -> Result<(), Reject> {
        if self.cold_open[group.number as usize] {
            return Ok(());
        }
        let start = self.cold() + u64::from(group.offset);
        if !self.geometry.fits(self.hot(), image.base) {
            let moved = MovedUnit::new(&self.unit, self.hot(), image.base);
            fix(start, group.len, |bytes| moved.fix_cold(group, bytes))?;
        }
        make_executable(start, group.len)?;
        self.cold_open[group.number as usize] = true;
        Ok(())
    }

    /// Indirect branches of earlier runs went to these: spare them the first miss.
    fn prefill(&self, group: &CodeGroup, image: Home<'_>, ibl: &mut IblTable) {
        for number in group.fragments.clone() {
            if let Ok(info) = self.unit.info(number)
                && info.flags & unit_flag::INDIRECT_TARGET != 0
                && info.context == Context::CANONICAL
            {
                ibl.prefill(
                    info.head.at(image.base).0,
                    self.hot() + u64::from(info.hot.start),
                );
            }
        }
    }
}

/// Lets `write` change the app fields of code at `start`.
fn fix(
    start: u64,
    len: u32,
    write: impl FnOnce(&mut [u8]) -> Result<u32, Reject>,
) -> Result<u32, Reject> {
    // SAFETY: the group is not running: it has no execute permission yet.
    unsafe { mem::protect(start, u64::from(len), mem::RW) }.map_err(|_| Reject::Forbidden)?;
    // SAFETY: writable now, and ours alone under the VM lock.
    write(unsafe { core::slice::from_raw_parts_mut(start as *mut u8, len as usize) })
}

fn make_executable(start: u64, len: u32) -> Result<(), Reject> {
    // SAFETY: nobody writes to the group from here on.
    unsafe { mem::protect(start, u64::from(len), mem::RX) }.map_err(|_| Reject::Forbidden)
}
