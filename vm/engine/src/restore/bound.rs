//! A unit mapped for an image.

use crate::ibl::IblTable;
use crate::image::Image;
use crate::signal::translate::Maps;
use crate::stats::Stats;
use crate::sys::{mem, peek, time};
use alloc::string::ToString;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::{AppPc, CachePc, ImageBase, ImageOff};
use ppin_abi::context::Context;
use ppin_jit::MAX_TRACE_BYTES;
use ppin_persist::paths::UnitName;
use ppin_persist::{
    CodeGroup, Geometry, MovedUnit, Reject, SlotValue, VerifiedUnit, source_hash, unit_flag,
};

/// Whether a group may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gate {
    Closed,
    Open,
    Refused,
}

/// See the module.
#[derive(Debug)]
pub struct Bound {
    name: UnitName,
    unit: VerifiedUnit<'static>,
    addr: u64,
    geometry: Geometry,
    hot_gates: Vec<Gate>,
    cold_open: Vec<bool>,
    /// Hot offsets of fragments whose app bytes have changed since.
    killed: Vec<u32>,
}

impl Bound {
    /// A unit whose file is mapped at `addr`, nothing admitted yet.
    #[must_use]
    pub fn new(name: UnitName, unit: VerifiedUnit<'static>, addr: u64, geometry: Geometry) -> Self {
        let hot_gates = alloc::vec![Gate::Closed; unit.hot_groups() as usize];
        let cold_open = alloc::vec![false; unit.cold_groups() as usize];
        Self {
            name,
            unit,
            addr,
            geometry,
            hot_gates,
            cold_open,
            killed: Vec::new(),
        }
    }

    /// Name of its file.
    #[must_use]
    pub fn name(&self) -> UnitName {
        self.name
    }

    /// Whether `addr` lies in its mapping.
    #[must_use]
    pub fn contains(&self, addr: u64) -> bool {
        addr.wrapping_sub(self.addr) < self.geometry.file_len
    }

    /// Removes the mapping; its range.
    pub fn unmap(self) -> (u64, u64) {
        let range = (self.addr, self.addr + self.geometry.file_len);
        drop(self.unit);
        // SAFETY: the unit that read it is gone, and the app has unmapped the image.
        let _ = unsafe { mem::unmap(self.addr, self.geometry.file_len) };
        range
    }

    fn hot(&self) -> u64 {
        self.addr + self.geometry.hot.start
    }

    fn cold(&self) -> u64 {
        self.addr + self.geometry.cold.start
    }

    /// Cache address of the fragment for (`off`, `context`), its group admitted.
    pub fn enter(
        &mut self,
        off: ImageOff,
        context: Context,
        image: &Image,
        stats: &mut Stats,
        ibl: &mut IblTable,
    ) -> Option<CachePc> {
        let entry = self
            .unit
            .lookup(off, context)
            .map_err(|e| stats.note(e.to_string()))
            .ok()??;
        if self.killed.contains(&entry.hot) {
            return None;
        }
        let addr = self.hot() + u64::from(entry.hot);
        self.admit_at(addr, image, stats, ibl)
            .then_some(CachePc(addr))
    }

    /// Takes fragments made from app bytes in `start .. end` out of use, and returns
    /// their entries. Those in groups that are not admitted will be compared first;
    /// the others get a breakpoint at their entry, since links in the file lead there.
    pub fn kill(&mut self, start: u64, end: u64, base: ImageBase) -> Vec<(AppPc, u64)> {
        let mut dead = Vec::new();
        for group in (0..self.unit.hot_groups()).filter_map(|n| self.unit.hot_group(n)) {
            if self.hot_gates[group.number as usize] != Gate::Open {
                continue;
            }
            for info in group
                .fragments
                .clone()
                .filter_map(|n| self.unit.info(n).ok())
            {
                let pc = info.head.at(base);
                if pc.0 < end && pc.0 + u64::from(info.source_len) > start {
                    dead.push((pc, self.hot() + u64::from(info.hot.start)));
                    self.killed.push(info.hot.start);
                }
            }
        }
        for (_, entry) in &dead {
            break_at(*entry);
        }
        dead
    }

    /// Whether `addr` is the entry of a killed fragment.
    #[must_use]
    pub fn is_killed(&self, addr: u64) -> bool {
        addr >= self.hot()
            && self
                .killed
                .iter()
                .any(|k| self.hot() + u64::from(*k) == addr)
    }

    /// Direct exits of the fragments whose heads lie in `low .. high`.
    #[must_use]
    pub fn exits_between(&self, low: ImageOff, high: ImageOff) -> Vec<(ImageOff, Context)> {
        let (mut first, mut end) = (0, self.unit.fragments());
        while first < end {
            let middle = first + (end - first) / 2;
            match self.unit.entry(middle) {
                Ok(entry) if entry.head.0 < low.0 => first = middle + 1,
                _ => end = middle,
            }
        }
        let entries = (first..self.unit.fragments()).map_while(|n| self.unit.entry(n).ok());
        let near = entries.take_while(|e| e.head.0 < high.0);
        let exits = near
            .filter_map(|e| self.unit.exits(e.fragment).ok())
            .flatten()
            .flatten();
        exits.map(|e| (e.target, e.context)).collect()
    }

    /// Whether it has a usable fragment for (`off`, `context`).
    #[must_use]
    pub fn has(&self, off: ImageOff, context: Context) -> bool {
        matches!(self.unit.lookup(off, context), Ok(Some(_)))
    }

    /// Admits the group of cache address `addr`; `false` if it must not run.
    pub fn admit_at(
        &mut self,
        addr: u64,
        image: &Image,
        stats: &mut Stats,
        ibl: &mut IblTable,
    ) -> bool {
        let offset = addr - self.addr;
        if self.geometry.cold.contains(&offset) {
            return self.open_cold((offset - self.geometry.cold.start) as u32, image, stats);
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
            Gate::Closed => self.open_hot(&group, image, stats, ibl),
        }
    }

    /// Admits every group, stubs included.
    pub fn admit_all(&mut self, image: &Image, stats: &mut Stats, ibl: &mut IblTable) {
        for n in 0..self.unit.hot_groups() {
            let start = self
                .unit
                .hot_group(n)
                .map(|g| self.hot() + u64::from(g.offset));
            start.map(|at| self.admit_at(at, image, stats, ibl));
        }
        for n in 0..self.unit.cold_groups() {
            let start = self
                .unit
                .cold_group(n)
                .map(|g| self.cold() + u64::from(g.offset));
            start.map(|at| self.admit_at(at, image, stats, ibl));
        }
    }

    fn open_hot(
        &mut self,
        group: &CodeGroup,
        image: &Image,
        stats: &mut Stats,
        ibl: &mut IblTable,
    ) -> bool {
        let started = time::ticks();
        let opened = self
            .check_hot(group, image, stats)
            .and_then(|()| self.run_hot(group, image, stats));
        let gate = match opened {
            Ok(()) => Gate::Open,
            Err(e) => {
                stats.note(alloc::format!("{}: {e}", image.path));
                Gate::Refused
            }
        };
        self.hot_gates[group.number as usize] = gate;
        if gate == Gate::Open {
            self.prefill(group, image, ibl);
        }
        stats.time.relocate += time::ticks().saturating_sub(started);
        gate == Gate::Open
    }

    fn bytes(&self, range: Range<u64>) -> &[u8] {
        // SAFETY: within the mapping, readable; code is written only under the VM lock.
        unsafe {
            core::slice::from_raw_parts(
                (self.addr + range.start) as *const u8,
                (range.end - range.start) as usize,
            )
        }
    }

    fn group_bytes(&self, section: u64, group: &CodeGroup) -> &[u8] {
        let start = section + u64::from(group.offset);
        self.bytes(start..start + u64::from(group.len))
    }

    /// Checksums of the group, its slots and its stubs, then the app's own bytes.
    fn check_hot(&self, group: &CodeGroup, image: &Image, stats: &mut Stats) -> Result<(), Reject> {
        self.unit.check_hot(
            group.number,
            self.group_bytes(self.geometry.hot.start, group),
        )?;
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
            stats.fragments_validated += 1;
            let app = buffer.get_mut(..source.len as usize).ok_or(Reject::Stale)?;
            let complete = peek::read(source.head.at(image.base).0, app) == app.len();
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
        image: &Image,
        stats: &mut Stats,
    ) -> Result<(), Reject> {
        self.rebase_slots(group, image, stats)?;
        let start = self.hot() + u64::from(group.offset);
        if !self.geometry.fits(self.hot(), image.base) {
            let moved = MovedUnit::new(&self.unit, self.hot(), image.base);
            stats.relocations_applied +=
                u64::from(fix(start, group.len, |bytes| moved.fix_hot(group, bytes))?);
        }
        stats.code_bytes_reused += u64::from(group.len);
        make_executable(start, group.len)
    }

    fn rebase_slots(
        &self,
        group: &CodeGroup,
        image: &Image,
        stats: &mut Stats,
    ) -> Result<(), Reject> {
        let Some(range) = self.unit.slot_group(group.number) else {
            return Ok(());
        };
        let start = self.addr + self.geometry.slots.start;
        for at in (start + u64::from(range.start)..start + u64::from(range.end)).step_by(8) {
            let cell = at as *mut u64;
            // SAFETY: slots are mapped writable, and no code that uses these runs yet.
            unsafe { cell.write(self.slot_value(cell.read(), image)?) };
            stats.relocations_applied += 1;
        }
        Ok(())
    }

    fn slot_value(&self, bits: u64, image: &Image) -> Result<u64, Reject> {
        Ok(match SlotValue::decode(bits).ok_or(Reject::Impossible)? {
            SlotValue::App(off) => off.at(image.base).0,
            SlotValue::Cold(off) => self.cold() + u64::from(off),
            SlotValue::ImageCounters => image.counters,
        })
    }

    /// Lets the stubs at `offset` run: they were verified with the code that uses
    /// them.
    fn open_cold(&mut self, offset: u32, image: &Image, stats: &mut Stats) -> bool {
        let Some(group) = self.unit.cold_group_at(offset) else {
            return false;
        };
        let opened = self
            .check_cold(&group)
            .and_then(|()| self.run_cold(&group, image));
        if let Err(e) = &opened {
            stats.note(alloc::format!("{}: {e}", image.path));
        }
        opened.is_ok()
    }

    fn run_cold(&mut self, group: &CodeGroup, image: &Image) -> Result<(), Reject> {
        if self.cold_open[group.number as usize] {
            return Ok(());
        }
        self.cold_open[group.number as usize] = true;
        let start = self.cold() + u64::from(group.offset);
        if !self.geometry.fits(self.hot(), image.base) {
            let moved = MovedUnit::new(&self.unit, self.hot(), image.base);
            fix(start, group.len, |bytes| moved.fix_cold(group, bytes))?;
        }
        make_executable(start, group.len)
    }

    /// Indirect branches of earlier runs went to these: spare them the first miss.
    fn prefill(&self, group: &CodeGroup, image: &Image, ibl: &mut IblTable) {
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

    /// The maps of the fragment whose hot code holds `addr`.
    #[must_use]
    pub fn maps(&self, addr: u64, image: &Image) -> Option<Maps> {
        let offset = addr.checked_sub(self.hot())?;
        if offset >= self.geometry.hot.end - self.geometry.hot.start {
            return None;
        }
        let info = self.unit.fragment_at_hot(offset as u32).ok()??;
        Some(Maps {
            head: info.head.at(image.base),
            context: info.context,
            hot: self.hot() + u64::from(info.hot.start),
            rows: self.unit.pc_rows(info.number).ok()?.collect(),
            counts: self.unit.counts(info.number).ok()?.collect(),
            counters: image.counters,
        })
    }

    /// App address and context of the fragment that is entered at `addr`; of a stub,
    /// those of the exit.
    ///
    /// # Panics
    /// If `addr` is neither: only entries and stubs are jumped to.
    #[must_use]
    pub fn entry_at(&self, addr: u64, base: ImageBase) -> (AppPc, Context) {
        self.try_entry_at(addr, base)
            .expect("only entries and stubs are jumped to")
    }

    fn try_entry_at(&self, addr: u64, base: ImageBase) -> Option<(AppPc, Context)> {
        let offset = addr - self.addr;
        if self.geometry.hot.contains(&offset) {
            let offset = (offset - self.geometry.hot.start) as u32;
            let known = self
                .fragment_entered_at(offset)
                .or_else(|| self.indexed_at(offset));
            return known.map(|(head, context)| (head.at(base), context));
        }
        let offset = (offset - self.geometry.cold.start) as u32;
        let known = self.exit_at(offset).or_else(|| self.recorded_at(addr));
        known.map(|(target, context)| (target.at(base), context))
    }

    fn fragment_entered_at(&self, hot: u32) -> Option<(ImageOff, Context)> {
        let info = self.unit.fragment_at_hot(hot).ok()??;
        Some((info.head, info.context))
    }

    /// The same from the index, when the table of fragments is damaged.
    fn indexed_at(&self, hot: u32) -> Option<(ImageOff, Context)> {
        let entries = (0..self.unit.fragments()).filter_map(|n| self.unit.entry(n).ok());
        let mut found = entries.filter(|e| e.hot == hot);
        found.next().map(|e| (e.head, e.context))
    }

    fn exit_at(&self, cold: u32) -> Option<(ImageOff, Context)> {
        let info = self.unit.fragment_at_cold(cold).ok()??;
        let mut exits = self.unit.exits(info.number).ok()?.flatten();
        let exit = exits.find(|e| e.stub == cold - info.cold.start)?;
        Some((exit.target, exit.context))
    }

    /// The same from the stub's own record (`ExitRec`), when a table is damaged:
    /// `jmp [slot]` (6 bytes), the spill of rcx (9), `lea rcx, [rip + record]` (7).
    fn recorded_at(&self, stub: u64) -> Option<(ImageOff, Context)> {
        const LEA: u64 = 6 + 9;
        const LEA_RCX_RIP: [u8; 3] = [0x48, 0x8d, 0x0d];
        let at = stub - self.addr;
        let code = self.bytes(at..(at + LEA + 7).min(self.geometry.cold.end));
        let lea = code.get(LEA as usize..LEA as usize + 7)?;
        let distance = lea.strip_prefix(&LEA_RCX_RIP)?;
        let distance = i32::from_le_bytes(distance.try_into().ok()?);
        let record = at
            .wrapping_add(LEA + 7)
            .wrapping_add(i64::from(distance) as u64);
        let inside = self.geometry.cold.contains(&record) && record + 8 <= self.geometry.cold.end;
        let words = inside.then(|| self.bytes(record..record + 8))?;
        let word = |n: usize| words[n..n + 4].try_into().map(u32::from_le_bytes).ok();
        Some((ImageOff(word(0)? as i32), Context(word(4)?)))
    }
}

/// Lets `write` change the app fields of code at `start`.
fn fix(
    start: u64,
    len: u32,
    write: impl FnOnce(&mut [u8]) -> Result<u32, Reject>,
) -> Result<u32, Reject> {
    // SAFETY: the group is not running: it has no execute permission yet.
    unsafe { mem::protect(start, u64::from(len), mem::RW) }.map_err(|_| Reject::Reach)?;
    // SAFETY: writable now, and ours alone under the VM lock.
    write(unsafe { core::slice::from_raw_parts_mut(start as *mut u8, len as usize) })
}

/// Writes `int3` over the first byte of a fragment.
fn break_at(entry: u64) {
    const INT3: u8 = 0xcc;
    let page = mem::page_down(entry);
    // SAFETY: a page of ours; one byte is written atomically, running threads see the
    // old instruction or the breakpoint.
    unsafe {
        if mem::protect(page, mem::PAGE, mem::RWX).is_ok() {
            (entry as *mut u8).write_volatile(INT3);
            let _ = mem::protect(page, mem::PAGE, mem::RX);
        }
    }
}

fn make_executable(start: u64, len: u32) -> Result<(), Reject> {
    // SAFETY: nobody writes to the group from here on.
    unsafe { mem::protect(start, u64::from(len), mem::RX) }.map_err(|_| Reject::Reach)
}
