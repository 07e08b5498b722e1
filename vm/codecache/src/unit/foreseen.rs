//! Jumps through cells of persisted code in a start plan: where earlier runs have seen them go.

use super::Bound;
use super::kept::{Led, New};
use super::links::LinksOfUnits;
use crate::cache::CodeCache;
use alloc::vec::Vec;
use ppin_abi::addr::{AppPc, CachePc, ImageBase, ImageOff};
use ppin_images::ImageId;
use ppin_indirect::Pair;
use ppin_persist::FragmentInfo;
use ppin_persist::start::{Prediction, UnitPlan};

/// A unit, by its checksum: an image's, and its place among those.
struct Called {
    checksum: u64,
    image: ImageId,
    place: usize,
}

impl CodeCache {
    /// Predicts jumps as `parts` of the plan say, where both ends run; what comes with images that are not
    /// there yet is kept in mind.
    pub(super) fn restore_predictions(&mut self, parts: &[UnitPlan]) {
        let of = |part: &UnitPlan| {
            let from = part.unit;
            let all = part.predictions.clone().into_iter();
            all.map(move |prediction| (from, prediction))
        };
        self.expected.extend(parts.iter().flat_map(of));
        if self.expected.is_empty() {
            return;
        }
        let units = self.units_by_checksum();
        let called = |checksum| units.iter().find(|unit| unit.checksum == checksum);
        let mut expected = core::mem::take(&mut self.expected);
        expected.retain(|(from, prediction)| {
            let ends = called(*from).zip(called(prediction.unit));
            let done = ends.and_then(|ends| self.restore_prediction(ends, prediction));
            done.is_none()
        });
        self.expected = expected;
    }

    /// Predicts a jump from one unit to another; `None`: it cannot be done now. What is read for it is what
    /// has been written to a moment ago, the slots: records lie in memory that a start need not touch.
    fn restore_prediction(
        &mut self,
        (from, to): (&Called, &Called),
        prediction: &Prediction,
    ) -> Option<()> {
        let entry = self.units.of(to.image)[to.place].running(prediction.hot)?;
        let unit = &self.units.of(from.image)[from.place];
        let slots = unit.pair(prediction.slot)?;
        let own = unit.hot() + u64::from(prediction.own);
        let app = |unit: &Called, offset| ImageOff(offset).at(self.images.get(unit.image).base);
        let (head, target) = (app(from, prediction.head), app(to, prediction.target));
        let Some(cell) = slots.cell() else {
            let done = self.predict_by(slots, (head, own), target, CachePc(entry));
            return done.then_some(());
        };
        if cell == head.0 {
            self.lead_as_seen(slots, target, CachePc(entry));
        }
        Some(())
    }

    fn units_by_checksum(&self) -> Vec<Called> {
        let of = |(image, _)| {
            let units = self.units.of(image).iter().enumerate();
            units.map(move |(place, unit)| Called {
                checksum: unit.checksum(),
                image,
                place,
            })
        };
        self.images.iter().flat_map(of).collect()
    }

    /// Where jumps in `unit`, one of the image's, are predicted to go, according to `links`. It may be one of the
    /// `new` ones.
    pub(super) fn predictions_of(
        &self,
        id: ImageId,
        unit: &Bound,
        links: &LinksOfUnits,
        new: &New,
    ) -> Vec<Prediction> {
        let base = self.images.get(id).base;
        let own = |(addr, entry): (u64, u64)| {
            let slot = unit.number_of_slot(addr)?;
            let of = unit.unit.fragment_with_slot(slot).ok()??;
            self.prediction((slot, &of), (cell_at(addr, base), entry), new)
        };
        let elsewhere = |jump: Led| {
            let of = jump.place.within(unit)?;
            let slot = of.slots.start + jump.nth;
            let slot = of.slots.contains(&slot).then_some(slot)?;
            self.prediction((slot, &of), (cell_at(jump.slot, base), jump.entry), new)
        };
        let mut predictions: Vec<_> = links.of(unit).filter_map(own).collect();
        if unit.planned.own {
            predictions.extend(self.jumps_elsewhere(id, links).filter_map(elsewhere));
        }
        predictions
    }

    /// The prediction of the jump that has slot `slot` of fragment `of`, to cache address `entry`; its cell, if
    /// that is not compared with anything.
    fn prediction(
        &self,
        (slot, of): (u32, &FragmentInfo),
        (cell, entry): (Option<ImageOff>, u64),
        new: &New,
    ) -> Option<Prediction> {
        let (unit, hot) = self.kept(entry, new)?;
        Some(Prediction {
            slot,
            head: cell.unwrap_or(of.head).0,
            own: of.entry(),
            unit,
            target: self.place(entry)?.head.0,
            hot,
        })
    }
}

/// The cell of the jump whose first slot lies at `slot`, if it is not compared with anything. The image lies at
/// `base`.
fn cell_at(slot: u64, base: ImageBase) -> Option<ImageOff> {
    // SAFETY: a slot that is linked, of a jump, which has two.
    let cell = unsafe { Pair::at(slot) }.cell()?;
    AppPc(cell).offset_from(base)
}

impl Bound {
    /// Slot `number` and the one behind it, if there are both, and the code that they belong to runs.
    fn pair(&self, number: u32) -> Option<Pair> {
        let group = self.group_of_slot(number.checked_add(1)?)?;
        let slots = self.unit.slot_group(group)?;
        let runs = slots.start <= 8 * number && self.is_open(group);
        let first = self.addr + self.geometry.slots.start + 8 * u64::from(number);
        // SAFETY: slots of a group that runs, mapped as long as its unit.
        runs.then(|| unsafe { Pair::at(first) })
    }
}
