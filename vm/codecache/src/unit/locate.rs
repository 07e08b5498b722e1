//! What a cache address in a unit stands for, damaged tables or not.

use super::bound::{Bound, ColdGate, Gate};
use crate::bundles::InUnit;
use crate::exit::{CodeOf, KnownExit, number_at};
use crate::landing::Landings;
use crate::spot::Maps;
use core::ops::Range;
use ppin_abi::addr::{AppPc, ImageBase, ImageOff};
use ppin_abi::context::Context;
use ppin_images::Image;
use ppin_indirect::Site;
use ppin_persist::FragmentInfo;
use ppin_relocator::{ARRIVAL, CountRow, Exit, PcRow};

/// Reads count rows of fragments that have cells, in the order of [`Bound::cells`]. (Their tables
/// were checked when their groups were admitted.)
pub(crate) struct CountRows<'a> {
    unit: &'a Bound,
    /// Number of the group of the last one.
    group: Option<u32>,
    /// Fragments of that group that may be asked for yet.
    rest: Range<u32>,
}

impl<'a> CountRows<'a> {
    /// Those of the fragment that has these cells.
    pub(crate) fn of(&mut self, placed: &InUnit) -> impl Iterator<Item = CountRow> + use<'a> {
        if self.group != Some(placed.group) {
            self.group = Some(placed.group);
            let group = self.unit.unit.hot_group(placed.group);
            self.rest = group.map_or(0..0, |group| group.fragments);
        }
        let unit = &self.unit.unit;
        let has = |number: &u32| {
            unit.info(*number)
                .is_ok_and(|it| placed.slot < it.slots.end)
        };
        let found = self.rest.find(has).and_then(|n| unit.counts(n).ok());
        found.into_iter().flatten()
    }
}

/// An exit, the fragment that has it, and the number of its slot among those of exits.
struct ExitOf {
    info: FragmentInfo,
    exit: Exit,
    slot: u32,
}

impl Bound {
    /// The fragment whose hot code holds `addr`.
    fn fragment_at(&self, addr: u64) -> Option<FragmentInfo> {
        let offset = self.hot_offset(addr)?;
        self.unit.fragment_at_hot(offset).ok()?
    }

    /// Of the fragment whose hot code holds `addr`: where that begins, what it may assume, and its rows.
    pub(crate) fn rows_at(&self, addr: u64) -> Option<(u64, Context, impl Iterator<Item = PcRow>)> {
        let info = self.fragment_at(addr)?;
        let hot = self.hot() + u64::from(info.hot.start);
        Some((hot, info.context, self.unit.pc_rows(info.number).ok()?))
    }

    /// The maps of the fragment whose hot code holds `addr`.
    #[must_use]
    pub fn maps(&self, addr: u64, image: &Image) -> Option<Maps> {
        let info = self.fragment_at(addr)?;
        Some(Maps {
            head: info.head.at(image.base),
            context: info.context,
            hot: self.hot() + u64::from(info.hot.start),
            rows: self.unit.pc_rows(info.number).ok()?.collect(),
            counts: self.unit.counts(info.number).ok()?.collect(),
            counters: image.counters,
        })
    }

    /// The cells of its fragments that may have been entered.
    pub(crate) fn cells(&self) -> &[InUnit] {
        &self.cells
    }

    /// Count rows of the fragments that have cells.
    pub(crate) fn count_rows(&self) -> CountRows<'_> {
        CountRows {
            unit: self,
            group: None,
            rest: 0..0,
        }
    }

    /// The maps, if it may be entered: admitted, and its source not changed since.
    #[must_use]
    pub fn running_maps(&self, addr: u64, image: &Image) -> Option<Maps> {
        let offset = u32::try_from(addr.checked_sub(self.hot())?).ok()?;
        let group = self.unit.hot_group_at(offset)?;
        let open = self.hot_gates[group.number as usize] == Gate::Open;
        let info = self.unit.fragment_at_hot(offset).ok()??;
        let killed = self.killed.contains(&info.entry());
        (open && !killed).then(|| self.maps(addr, image)).flatten()
    }

    /// Where threads arrive that go by their own tables to the fragment that is entered at `entry`, if
    /// they may.
    pub(crate) fn arrival(&self, entry: u64) -> Option<u64> {
        let offset = u32::try_from(entry.checked_sub(self.hot())?).ok()?;
        let info = self.unit.fragment_at_hot(offset).ok()??;
        let arrives = info.before > 0 && info.entry() == offset;
        arrives.then(|| entry - u64::from(info.before) + u64::from(ARRIVAL))
    }

    /// What must be known of the fragment whose hot code holds `addr` to predict its jumps, if it may be entered:
    /// its slots are in order then. The image lies at `base`.
    pub(crate) fn site(&self, addr: u64, base: ImageBase) -> Option<Site> {
        let offset = u32::try_from(addr.checked_sub(self.hot())?).ok()?;
        let group = self.unit.hot_group_at(offset)?;
        let info = self.unit.fragment_at_hot(offset).ok()??;
        let Landings { slots, source } = self.landings(&info, info.head.at(base));
        let usable = self.is_open(group.number) && !self.killed.contains(&info.entry());
        let entry = self.hot() + u64::from(info.entry());
        let called = info.context.contains(Context::CALLED);
        // SAFETY: slots of a group that runs, mapped as long as its unit.
        usable.then(|| unsafe { Site::new(slots, source, entry, called) })
    }

    /// App address and context of the fragment that is entered at `addr`; of a stub,
    /// those of the exit. Links to code that must not run have been taken back.
    ///
    /// # Panics
    /// If `addr` is neither: only entries and stubs are jumped to.
    #[must_use]
    pub(crate) fn entry_at(&self, addr: u64, base: ImageBase) -> (AppPc, Context) {
        self.try_entry_at(addr, base)
            .expect("only entries and stubs are jumped to")
    }

    fn try_entry_at(&self, addr: u64, base: ImageBase) -> Option<(AppPc, Context)> {
        let offset = addr - self.addr;
        if self.geometry.hot.contains(&offset) {
            let offset = (offset - self.geometry.hot.start) as u32;
            let known = self
                .fragment_entered_at(offset)
                .or_else(|| self.led_away_from(offset));
            return known.map(|(head, context)| (head.at(base), context));
        }
        let offset = (offset - self.geometry.cold.start) as u32;
        let exit = self.exit_at(offset)?.exit;
        Some((exit.target.at(base), exit.context))
    }

    /// App address and context of the code that is entered at `hot` in the hot section.
    pub(super) fn fragment_entered_at(&self, hot: u32) -> Option<(ImageOff, Context)> {
        let info = self.unit.fragment_at_hot(hot).ok()??;
        if hot == info.entry() || !self.unit.has_side_entrances() {
            return Some((info.head, info.context));
        }
        let off = self.unit.entered_aside(&info, hot)?;
        Some((off, Context::CANONICAL))
    }

    /// The same from what has led there, when the table of fragments is damaged.
    fn led_away_from(&self, hot: u32) -> Option<(ImageOff, Context)> {
        let led = self.led_away.iter().find(|led| led.hot == hot)?;
        Some((led.head, led.context))
    }

    /// The exit whose stub lies at `cold` in the cold section.
    fn exit_at(&self, cold: u32) -> Option<ExitOf> {
        if let Some((given, slot)) = self.spare_at(cold) {
            let info = self.unit.info(given.fragment).ok()?;
            return self.exit_of(info, given.exit as usize, slot);
        }
        let runs = |group| self.is_open(group);
        let info = self.unit.fragment_at_cold(cold, runs).ok()??;
        let number = number_at(u64::from(cold - info.cold.start), info.stubs.len())?;
        let slot = info.stubs.start + number as u32;
        let exit = self.unit.with_stubs(info.number).ok()?.nth(number)?;
        self.exit_of(info, exit, slot)
    }

    fn exit_of(&self, info: FragmentInfo, exit: usize, slot: u32) -> Option<ExitOf> {
        let exit = self.unit.exits(info.number).ok()?.nth(exit)?.ok()?;
        Some(ExitOf { info, exit, slot })
    }

    /// The same of the stub at cache address `stub`, if it may run; the image lies at `base`.
    pub(crate) fn known_exit(&self, stub: u64, base: ImageBase) -> Option<KnownExit> {
        let cold = u32::try_from(stub.checked_sub(self.cold())?).ok()?;
        let group = self.unit.cold_group_at(cold)?;
        let open = self.cold_gates[group.number as usize] == ColdGate::Open;
        open.then(|| self.exit_of_stub(stub, base)).flatten()
    }

    /// The same, whether or not it may run.
    pub(super) fn exit_of_stub(&self, stub: u64, base: ImageBase) -> Option<KnownExit> {
        let cold = u32::try_from(stub.checked_sub(self.cold())?).ok()?;
        let ExitOf { info, exit, slot } = self.exit_at(cold)?;
        let hot = self.hot() + u64::from(info.hot.start);
        let slot = self.exit_slots() + 8 * u64::from(slot);
        Some(KnownExit::new(&exit, base, (hot, slot), CodeOf::Unit))
    }
}
