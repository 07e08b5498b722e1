//! A unit mapped for an image.

use super::planned::Planned;
use crate::bundles::InUnit;
use crate::figures::Figures;
use crate::landing::Landings;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::{AppPc, CachePc, ImageBase, ImageOff};
use ppin_abi::context::Context;
use ppin_images::Home;
use ppin_indirect::IblTable;
use ppin_os::budget;
use ppin_os::mem;
use ppin_persist::paths::UnitName;
use ppin_persist::start::{FileState, Groups};
use ppin_persist::{FragmentInfo, Geometry, Reject, VerifiedUnit};

/// Whether a group may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gate {
    Closed,
    Open,
    Refused,
}

/// Whether a group of stubs may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ColdGate {
    Closed,
    /// Verified, and fixed where it lies.
    Ready,
    Open,
}

/// Where links led that were taken back, and what is entered there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LedAway {
    /// Offset in the hot section.
    pub hot: u32,
    pub head: ImageOff,
    pub context: Context,
}

/// See the module.
#[derive(Debug)]
pub struct Bound {
    name: UnitName,
    pub(super) unit: VerifiedUnit<'static>,
    pub(super) addr: u64,
    pub(super) geometry: Geometry,
    pub(super) hot_gates: Vec<Gate>,
    /// Groups that were admitted though nobody has asked for them.
    pub(super) filled: Groups,
    pub(super) cold_gates: Vec<ColdGate>,
    /// Whether all of its code was mapped to be executed, and it is not decided yet whether it may be.
    pub(super) executable: bool,
    /// Whether slots can be written to.
    pub(super) slots_open: bool,
    /// Entries of fragments, as hot offsets, whose app bytes have changed since.
    pub(super) killed: Vec<u32>,
    /// What led there does no more, and its table does not say what is there.
    pub(super) led_away: Vec<LedAway>,
    /// So many fragments and groups were out of use when links that lead there were last taken back.
    pub(super) taken_back: usize,
    /// What its spare stubs were given to, in their order.
    pub(super) given: Vec<Given>,
    /// Part of it was found damaged.
    pub(super) damaged: bool,
    /// See [`Self::has_met_other_code`].
    pub(super) stale: bool,
    /// The cells of its fragments that may have been entered.
    pub(super) cells: Vec<InUnit>,
    /// State of its file when it was opened.
    pub(super) file: FileState,
    /// What a start plan says of it.
    pub(super) planned: Planned,
}

/// The exit that a spare stub was given to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Given {
    /// Number of its fragment.
    pub fragment: u32,
    /// Which of that one's exits.
    pub exit: u32,
}

impl Bound {
    /// A unit whose file is mapped at `addr`, nothing admitted yet.
    #[must_use]
    pub(crate) fn new(
        name: UnitName,
        unit: VerifiedUnit<'static>,
        addr: u64,
        geometry: Geometry,
        file: FileState,
    ) -> Self {
        let hot_gates = alloc::vec![Gate::Closed; unit.hot_groups() as usize];
        let cold_gates = alloc::vec![ColdGate::Closed; unit.cold_groups() as usize];
        Self {
            name,
            unit,
            addr,
            geometry,
            hot_gates,
            filled: Groups::new(),
            cold_gates,
            executable: false,
            slots_open: false,
            killed: Vec::new(),
            led_away: Vec::new(),
            taken_back: 0,
            given: Vec::new(),
            damaged: false,
            stale: false,
            cells: Vec::new(),
            file,
            planned: Planned::default(),
        }
    }

    /// Checksum of its head, and so of its contents.
    pub(crate) fn checksum(&self) -> u64 {
        self.unit.checksum()
    }

    /// Whether part of it was found damaged.
    #[must_use]
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Whether some of it was made from other code than this process has there.
    #[must_use]
    pub fn has_met_other_code(&self) -> bool {
        self.stale
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

    /// Number of its fragments.
    #[must_use]
    pub fn fragments(&self) -> u32 {
        self.unit.fragments()
    }

    /// Whether its neighbours have been looked at.
    #[must_use]
    pub fn is_explored(&self) -> bool {
        self.geometry.explored
    }

    /// Where it is mapped: start and end, whole pages.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        (self.addr, mem::page_up(self.addr + self.geometry.file_len))
    }

    /// Whether it lies elsewhere than it was made for, and its code must be relocated.
    pub(crate) fn is_moved(&self, base: ImageBase) -> bool {
        !self.geometry.fits(self.hot(), base)
    }

    /// Removes the mapping; its range.
    pub fn unmap(self) -> (u64, u64) {
        let range = self.range();
        drop(self.unit);
        // SAFETY: the unit that read it is gone, and the app has unmapped the image.
        let _ = unsafe { mem::unmap(self.addr, self.geometry.file_len) };
        budget::unit_unmapped(self.geometry.file_len);
        range
    }

    pub(super) fn hot(&self) -> u64 {
        self.addr + self.geometry.hot.start
    }

    pub(super) fn cold(&self) -> u64 {
        self.addr + self.geometry.cold.start
    }

    /// Cache address of the code that `find` finds in its hot section, if it may be entered; its group is
    /// admitted.
    pub(crate) fn enter(
        &mut self,
        find: impl Fn(&VerifiedUnit<'_>) -> Result<Option<u32>, Reject>,
        image: Home<'_>,
        figures: &mut Figures,
        ibl: &mut IblTable,
    ) -> Option<CachePc> {
        let found = find(&self.unit);
        let hot = found.map_err(|e| figures.note(e.to_string())).ok()??;
        let addr = self.hot() + u64::from(hot);
        let enters = !self.is_killed_at(hot) && self.admit_at(addr, image, figures, ibl);
        enters.then_some(CachePc(addr))
    }

    /// Takes fragments made from app bytes in `start .. end` out of use, and returns
    /// their entrances. Those in groups that are not admitted will be compared first;
    /// the others get a breakpoint at each entrance, since links in the file lead there.
    pub(crate) fn kill(&mut self, start: u64, end: u64, base: ImageBase) -> Vec<(AppPc, u64)> {
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
                    self.landings(&info, pc).shut();
                    dead.push((pc, self.hot() + u64::from(info.entry())));
                    dead.extend(self.entrances_aside(&info, base));
                    self.killed.push(info.entry());
                }
            }
        }
        let mut entrances: Vec<u64> = dead.iter().map(|(_, entry)| *entry).collect();
        entrances.sort_unstable();
        for of_page in entrances.chunk_by(|a, b| mem::page_down(*a) == mem::page_down(*b)) {
            break_at(of_page);
        }
        dead
    }

    /// Where returns come back into a fragment at `pc`, which is admitted.
    pub(super) fn landings(&self, info: &FragmentInfo, pc: AppPc) -> Landings {
        let slot = |number: u32| self.addr + self.geometry.slots.start + 8 * u64::from(number);
        Landings {
            slots: slot(info.slots.start)..slot(info.slots.end),
            source: pc.0..pc.0 + u64::from(info.trace_len()),
        }
    }

    /// Whether `addr` is an entrance of a killed fragment.
    #[must_use]
    pub fn is_killed(&self, addr: u64) -> bool {
        self.hot_offset(addr)
            .is_some_and(|hot| self.is_killed_at(hot))
    }

    /// The same of offset `hot` in the hot section.
    pub(super) fn is_killed_at(&self, hot: u32) -> bool {
        self.killed.contains(&hot) || self.is_killed_aside(hot)
    }

    /// Whether it has a usable fragment for (`off`, `context`).
    #[must_use]
    pub fn has(&self, off: ImageOff, context: Context) -> bool {
        matches!(self.unit.lookup(off, context), Ok(Some(_)))
    }

    pub(super) fn bytes(&self, range: Range<u64>) -> &[u8] {
        // SAFETY: within the mapping, readable; code is written only under the VM lock.
        unsafe {
            core::slice::from_raw_parts(
                (self.addr + range.start) as *const u8,
                (range.end - range.start) as usize,
            )
        }
    }
}

/// Writes `int3` at these addresses, all of one page.
fn break_at(entrances: &[u64]) {
    const INT3: u8 = 0xcc;
    let Some(page) = entrances.first().map(|first| mem::page_down(*first)) else {
        return;
    };
    // SAFETY: a page of ours; each byte is written atomically, running threads see the
    // old instruction or the breakpoint.
    unsafe {
        if mem::protect(page, mem::PAGE, mem::RWX).is_ok() {
            for entrance in entrances {
                (*entrance as *mut u8).write_volatile(INT3);
            }
            let _ = mem::protect(page, mem::PAGE, mem::RX);
        }
    }
}
