//! What a run has learnt of how persisted code goes on: exits linked to other units of the image,
//! and entries that indirect branches reach. A start plan keeps it, so that the next run does not
//! enter the VM for it.

use super::Bound;
use super::kept::{Led, New};
use super::links::LinksOfUnits;
use crate::cache::CodeCache;
use alloc::vec::Vec;
use ppin_abi::addr::AppPc;
use ppin_images::ImageId;
use ppin_persist::start::{Link, Target, UnitPlan};

impl CodeCache {
    /// Links the exits of the image's units that `parts` name, where both ends run.
    pub(super) fn restore_links(&mut self, id: ImageId, parts: &[UnitPlan]) {
        let units = self.units.of(id);
        let unit = |checksum: u64| units.iter().find(|unit| unit.checksum() == checksum);
        for part in parts {
            let Some(from) = unit(part.unit) else {
                continue;
            };
            for link in &part.links {
                let entry = unit(link.unit).and_then(|to| to.running(link.hot));
                if let (Some(slot), Some(entry)) = (from.exit_slot(link.slot), entry) {
                    self.fresh.restore_link(slot, entry);
                }
            }
        }
    }

    /// Those of `links` that lead from `unit`, one of the image's, to others. It may be one of the `new` ones.
    pub(super) fn links_of(
        &self,
        id: ImageId,
        unit: &Bound,
        links: &LinksOfUnits,
        new: &New,
    ) -> Vec<Link> {
        let own = links.of(unit);
        // (The next run gives spare stubs anew.)
        let own = own.filter_map(|(slot, entry)| {
            let number = unit.number_of_exit_slot(slot)?;
            (!unit.is_spare_slot(number)).then_some((number, entry))
        });
        let mut exits: Vec<(u32, u64)> = own.collect();
        if unit.planned.own {
            let within = |exit: Led| {
                let info = exit.place.within(unit)?;
                let mut stubs = unit.unit.with_stubs(info.number).ok()?;
                let number = stubs.position(|nth| nth == exit.nth as usize)?;
                Some((info.stubs.start + number as u32, exit.entry))
            };
            exits.extend(self.exits_elsewhere(id, links).filter_map(within));
        }
        let link = |(slot, entry): (u32, u64)| {
            let (to, hot) = self.kept(entry, new)?;
            let goes_out = to != unit.checksum();
            goes_out.then_some(Link {
                slot,
                unit: to,
                hot,
            })
        };
        exits.into_iter().filter_map(link).collect()
    }

    /// Entries of `unit`, an image's unit, that indirect branches have reached.
    pub(super) fn targets_of(&self, id: ImageId, unit: &Bound) -> Vec<Target> {
        let base = self.images.get(id).base;
        let target = |(tag, entry): (u64, u64)| {
            // (First, since most lie in other units: a large program has a hundred.)
            let hot = unit.hot_offset(entry)?;
            let near = self.ibl.is_near(tag, entry);
            let arrival = if near { unit.arrival(entry) } else { None };
            Some(Target {
                hot,
                head: AppPc(tag).offset_from(base)?.0,
                near,
                before: arrival.map_or(0, |at| (entry - at) as u8),
            })
        };
        self.ibl.entries().filter_map(target).collect()
    }
}

impl Bound {
    /// Offset in the hot section of cache address `addr`, if it lies there.
    pub(super) fn hot_offset(&self, addr: u64) -> Option<u32> {
        let offset = addr.checked_sub(self.hot())?;
        let len = self.geometry.hot.end - self.geometry.hot.start;
        (offset < len).then_some(offset as u32)
    }

    /// Number of the slot at `addr`, if it is one, and none of an exit.
    pub(super) fn number_of_slot(&self, addr: u64) -> Option<u32> {
        let slots = &self.geometry.slots;
        let offset = addr.checked_sub(self.addr + slots.start)?;
        let within = offset < slots.end - slots.start && offset.is_multiple_of(8);
        within.then_some((offset / 8) as u32)
    }

    /// Number of the hot group that slot `number`, of no exit, belongs to.
    pub(super) fn group_of_slot(&self, number: u32) -> Option<u32> {
        self.unit.slot_group_at(number.checked_mul(8)?)
    }

    /// Address of the first exit slot.
    pub(super) fn exit_slots(&self) -> u64 {
        self.addr + self.geometry.exit_slots.start
    }

    /// Number of the exit slot at `addr`, if it is one.
    pub(super) fn number_of_exit_slot(&self, addr: u64) -> Option<u32> {
        let offset = addr.checked_sub(self.exit_slots())?;
        let len = self.geometry.exit_slots.end - self.geometry.exit_slots.start;
        (offset < len && offset.is_multiple_of(8)).then_some((offset / 8) as u32)
    }

    /// Address of exit slot `number`, if the code that it belongs to runs.
    fn exit_slot(&self, number: u32) -> Option<u64> {
        let group = self.group_of_exit_slot(number)?;
        let usable = self.is_open(group) && !self.is_spare_slot(number);
        usable.then(|| self.exit_slots() + 8 * u64::from(number))
    }

    /// Number of the hot group that exit slot `number` belongs to.
    pub(super) fn group_of_exit_slot(&self, number: u32) -> Option<u32> {
        self.unit.exit_slot_group_at(number.checked_mul(8)?)
    }
}
