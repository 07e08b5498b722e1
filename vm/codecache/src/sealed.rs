//! Jumps through cells that the program has sealed: they go straight to where the cells lead.
//!
//! A loader fills in the cells of an image, and makes them read-only before code of the image runs
//! (`PT_GNU_RELRO` of the System V ABI's GNU extensions). No store changes them then. A system call may take that
//! back, but it goes by the VM, which undoes these jumps first. So what a slot of ours says of a cell is true
//! while the cell is sealed, and nobody need look at the cell itself.
//!
//! Of an image, one range can be sealed at a time: the first that is made read-only.

use crate::cache::CodeCache;
use crate::image::ImageId;
use crate::landing;
use crate::site::Pair;
use alloc::vec::Vec;
use core::ops::Range;
use hashbrown::HashMap;
use ppin_abi::addr::{AppPc, CachePc, ImageRange};
use ppin_os::{peek, userfault};

/// What is sealed, and which jumps go by that.
#[derive(Debug, Default)]
pub(crate) struct Sealed {
    parts: Vec<(ImageId, Range<u64>)>,
    /// Cells of jumps that go straight on, by their first slots.
    led: HashMap<u64, u64>,
    /// Jumps of persisted code whose cells are not sealed yet.
    awaited: Vec<Awaited>,
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
    }

    /// Memory in `start .. end` has been changed by a call that page protection does not stop: jumps through cells
    /// there are looked up again.
    pub fn cells_changed(&mut self, start: u64, end: u64) {
        if self.sealed.part_in(start, end).is_some() {
            self.lead_back(start, end);
        }
    }

    /// Jumps through cells in `start .. end` go on behind themselves.
    fn lead_back(&mut self, start: u64, end: u64) {
        let (sealed, fresh) = (&mut self.sealed, &mut self.fresh);
        sealed.led.retain(|slot, cell| {
            let stays = *cell + 8 <= start || end <= *cell;
            if !stays {
                fresh.take_back(*slot);
            }
            stays
        });
    }

    /// The part of the image that is sealed.
    #[must_use]
    pub fn sealed_part(&self, image: ImageId) -> ImageRange {
        let base = self.images.get(image).base;
        let part = self.sealed.parts.iter().find(|(of, _)| *of == image);
        let part = part.and_then(|(_, part)| ImageRange::of(base, part.start, part.end));
        part.unwrap_or(ImageRange::NONE)
    }

    /// Lets the jump with these slots go to `entry`, the code for `target`, if that is where its cell leads.
    /// Whether it has gone nowhere before, and does so now.
    pub(crate) fn lead(&mut self, slots: Pair, target: AppPc, entry: CachePc) -> bool {
        let Some(cell) = slots.cell().filter(|cell| self.sealed.holds(*cell)) else {
            return false;
        };
        // (To read what is not in memory might be to wait for a thread that needs the lock.)
        let there = userfault::readable(cell, 8) == 8;
        let right =
            there && peek::read_value::<u64>(cell) == Some(target.0) && slots.leads_behind();
        if !right || landing::all_are_shut() {
            return false;
        }
        self.figures.jumps_predicted += 1;
        self.fresh.predict(slots.first(), entry.0, entry.0);
        self.sealed.led.insert(slots.first(), cell);
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
