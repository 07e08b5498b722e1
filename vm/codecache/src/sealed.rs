//! Jumps through cells that the program has sealed: they go straight to where the cells lead.
//!
//! A loader fills in the cells of an image, and makes them read-only before code of the image runs
//! (`PT_GNU_RELRO` of the System V ABI's GNU extensions). No store changes them then. A system call may take that
//! back, but it goes by the VM, which undoes these jumps first. So what a slot of ours says of a cell is true
//! while the cell is sealed, and nobody need look at the cell itself.
//!
//! Of an image, one range can be sealed at a time: the first that is made read-only.

use crate::cache::CodeCache;
use crate::landing;
use alloc::vec::Vec;
use core::ops::Range;
use hashbrown::{HashMap, HashSet};
use ppin_abi::addr::{AppPc, CachePc, ImageRange};
use ppin_images::ImageId;
use ppin_indirect::Pair;
use ppin_os::maps::{self, MapEntry};
use ppin_os::{peek, userfault};

/// What is sealed, and which jumps go by that.
#[derive(Debug, Default)]
pub(crate) struct Sealed {
    parts: Vec<(ImageId, Range<u64>)>,
    /// Other memory that does not change: it is read-only, and of a file whose code runs.
    steady: Vec<Range<u64>>,
    /// Tables that lie in none.
    unsteady: HashSet<u64>,
    /// Jumps that go straight on, by the slots by which they do.
    led: HashMap<u64, Led>,
    /// Jumps of persisted code whose cells are not sealed yet.
    awaited: Vec<Awaited>,
}

/// Why a jump goes straight on.
#[derive(Clone, Copy, Debug)]
struct Led {
    /// Where the app has what says where it goes, and how many bytes.
    cell: u64,
    bytes: u64,
    /// The entry of the code that it goes to.
    entry: u64,
}

/// A jump, and where earlier runs have seen it go.
#[derive(Debug)]
struct Awaited {
    cell: u64,
    slots: Pair,
    target: AppPc,
    entry: CachePc,
}

impl Sealed {
    /// Whether the 8 bytes at `cell` do not change.
    fn holds(&self, cell: u64) -> bool {
        let inside = |part: &Range<u64>| part.start <= cell && cell < part.end.saturating_sub(7);
        self.parts.iter().any(|(_, part)| inside(part))
    }

    /// Whether the `len` bytes at `start` are known not to change. `None`: that is not known.
    fn is_steady(&self, start: u64, len: u64) -> Option<bool> {
        let end = start.checked_add(len)?;
        let sealed = self.parts.iter().map(|(_, part)| part);
        let mut all = sealed.chain(&self.steady);
        if all.any(|part| part.start <= start && end <= part.end) {
            return Some(true);
        }
        self.unsteady.contains(&start).then_some(false)
    }

    /// Looks into the kernel's list for that, unless it has often been in vain: that takes long, and a program may have
    /// tables that change without end.
    fn learn(&mut self, start: u64, len: u64) -> bool {
        const MOST_IN_VAIN: usize = 128;
        if self.unsteady.len() >= MOST_IN_VAIN {
            return false;
        }
        let listed = maps::read().unwrap_or_default();
        let end = start.saturating_add(len);
        let here = listed.iter().find(|it| it.start <= start && end <= it.end);
        let steady =
            |it: &&MapEntry| it.readable && !it.writable && !it.shared && runs(&listed, it);
        match here.filter(steady) {
            Some(entry) => self.steady.push(entry.start..entry.end),
            None => {
                self.unsteady.insert(start);
            }
        }
        here.is_some_and(|entry| steady(&entry))
    }

    /// What is known of memory in `start .. end` may become wrong: the parts that are not known to be steady any more.
    fn forget_steady(&mut self, start: u64, end: u64) -> Vec<Range<u64>> {
        self.unsteady.retain(|table| !(start..end).contains(table));
        let hit = |part: &mut Range<u64>| part.start < end && start < part.end;
        self.steady.extract_if(.., hit).collect()
    }

    /// A jump goes to `entry` by the slot at `slot` because of the `bytes` bytes at `cell`.
    fn note(&mut self, slot: u64, (cell, bytes): (u64, u64), entry: CachePc) {
        let entry = entry.0;
        self.led.insert(slot, Led { cell, bytes, entry });
    }

    /// Whether something in `start .. end` is known not to change.
    fn has_part_in(&self, start: u64, end: u64) -> bool {
        let hit = |part: &Range<u64>| part.start < end && start < part.end;
        self.part_in(start, end).is_some() || self.steady.iter().any(hit)
    }

    /// Which part has something in `start .. end`.
    fn part_in(&self, start: u64, end: u64) -> Option<usize> {
        let hit = |part: &Range<u64>| part.start < end && start < part.end;
        self.parts.iter().position(|(_, part)| hit(part))
    }

    /// Code and slots in `start .. end` are no more.
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        self.led.retain(|slot, _| !(start..end).contains(slot));
    }

    /// Code may have gone to which jumps were to lead.
    pub(crate) fn await_nothing(&mut self) {
        self.awaited.clear();
    }

    /// All links have been undone.
    pub(crate) fn clear(&mut self) {
        self.led.clear();
        self.await_nothing();
    }
}

/// Whether code of the file of `part` is mapped. (Who writes to another file changes what is read-only here.)
fn runs(listed: &[MapEntry], part: &MapEntry) -> bool {
    let same = |it: &MapEntry| it.inode == part.inode && it.path == part.path;
    part.inode != 0 && listed.iter().any(|it| it.executable && same(it))
}

impl CodeCache {
    /// The program has made `start .. end` read-only.
    pub fn seal_cells(&mut self, start: u64, end: u64) {
        let Some(image) = self.images.of_data(start, end) else {
            return;
        };
        if self.sealed.parts.iter().any(|(known, _)| *known == image) {
            return;
        }
        self.journal
            .note(format_args!("cells in {start:#x}-{end:#x} are sealed"));
        self.sealed.parts.push((image, start..end));
        let awaited = &mut self.sealed.awaited;
        let ready = awaited.extract_if(.., |it| (start..end).contains(&it.cell));
        for jump in ready.collect::<Vec<_>>() {
            self.lead(jump.slots, jump.target, jump.entry);
        }
    }

    /// Memory in `start .. end` may change from now on, by the call that the program is about to make.
    pub fn unseal_cells(&mut self, start: u64, end: u64) {
        while let Some(n) = self.sealed.part_in(start, end) {
            let (_, part) = self.sealed.parts.swap_remove(n);
            self.journal.note(format_args!(
                "cells in {:#x}-{:#x} are not sealed any more",
                part.start, part.end
            ));
            self.lead_back(part.start, part.end);
        }
        for part in self.sealed.forget_steady(start, end) {
            self.lead_back(part.start, part.end);
        }
    }

    /// Memory in `start .. end` has been changed by a call that page protection does not stop: jumps through cells
    /// there are looked up again.
    pub fn cells_changed(&mut self, start: u64, end: u64) {
        if self.sealed.has_part_in(start, end) {
            self.lead_back(start, end);
        }
    }

    /// Jumps through cells in `start .. end` go on behind themselves.
    fn lead_back(&mut self, start: u64, end: u64) {
        let (sealed, fresh) = (&mut self.sealed, &mut self.fresh);
        sealed.led.retain(|slot, led| {
            let stays = led.cell + led.bytes <= start || end <= led.cell;
            if !stays {
                fresh.take_back(*slot, led.entry);
            }
            stays
        });
    }

    /// Whether the `len` bytes at `start` do not change, as long as nobody says so ([`Self::unseal_cells`]).
    pub(crate) fn is_steady(&mut self, start: u64, len: u64) -> bool {
        let known = self.sealed.is_steady(start, len);
        known.unwrap_or_else(|| self.sealed.learn(start, len))
    }

    /// Lets the jump with the slot at `slot`, to which nothing has been written, go to cache address `place` and so to
    /// `entry`, because of the bytes at `cell`, which do not change.
    pub(crate) fn lead_by(&mut self, slot: u64, cell: (u64, u64), place: u64, entry: CachePc) {
        self.fresh.predict(slot, place, entry.0);
        self.sealed.note(slot, cell, entry);
    }

    /// The part of the image that is sealed.
    #[must_use]
    pub fn sealed_part(&self, image: ImageId) -> ImageRange {
        let base = self.images.get(image).base;
        let part = self.sealed.parts.iter().find(|(of, _)| *of == image);
        let part = part.and_then(|(_, part)| ImageRange::of(base, part.start, part.end));
        part.unwrap_or(ImageRange::NONE)
    }

    /// Where the cell leads of the jump with these slots, as long as it is sealed, if the jump goes nowhere yet.
    pub(crate) fn target_of(&self, slots: Pair) -> Option<AppPc> {
        let cell = slots.cell().filter(|cell| self.sealed.holds(*cell))?;
        // (To read what is not in memory might be to wait for a thread that needs the lock.)
        let there = userfault::readable(cell, 8) == 8 && slots.leads_behind();
        there.then(|| peek::read_value(cell).map(AppPc))?
    }

    /// Lets the jump with these slots go to `entry`, the code for `target`, if that is where its cell leads.
    /// Whether it has gone nowhere before, and does so now.
    pub(crate) fn lead(&mut self, slots: Pair, target: AppPc, entry: CachePc) -> bool {
        let right = self.target_of(slots) == Some(target) && !landing::all_are_shut();
        let Some(cell) = slots.cell().filter(|_| right) else {
            return false;
        };
        self.figures.jumps_predicted += 1;
        self.fresh.predict(slots.first(), entry.0, entry.0);
        self.sealed.note(slots.first(), (cell, 8), entry);
        true
    }

    /// The same of persisted code, as an earlier run has seen it go: perhaps later.
    pub(crate) fn lead_as_seen(&mut self, slots: Pair, target: AppPc, entry: CachePc) {
        match slots.cell() {
            Some(cell) if !self.sealed.holds(cell) => {
                self.sealed.awaited.push(Awaited {
                    cell,
                    slots,
                    target,
                    entry,
                });
            }
            _ => {
                self.lead(slots, target, entry);
            }
        }
    }
}

#[cfg(test)]
mod tests;
