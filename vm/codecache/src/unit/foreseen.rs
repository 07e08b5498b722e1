//! Jumps through cells of persisted code in a start plan: where earlier runs have seen them go.

use super::Bound;
use super::learnt::LinksOfUnits;
use crate::cache::CodeCache;
use crate::fresh::Fresh;
use crate::image::ImageId;
use crate::site::Pair;
use alloc::vec::Vec;
use ppin_abi::addr::{CachePc, ImageOff};
use ppin_abi::context::Context;
use ppin_persist::FragmentInfo;
use ppin_persist::start::{Prediction, UnitPlan};

/// A unit, by its checksum: an image's, and its place among those.
struct Called {
    checksum: u64,
    image: ImageId,
    place: usize,
}

/// A fragment, wherever it is kept.
#[derive(Clone, Copy)]
struct Place {
    image: ImageId,
    head: ImageOff,
    context: Context,
}

impl Place {
    fn of(fresh: &Fresh) -> Self {
        Self {
            image: fresh.image(),
            head: fresh.code().head,
            context: fresh.context(),
        }
    }

    /// The same fragment in the unit.
    fn within(self, (image, unit): &(ImageId, Bound)) -> Option<FragmentInfo> {
        let same = (*image == self.image).then_some(unit)?;
        let entry = same.unit.lookup(self.head, self.context).ok()??;
        same.unit.info(entry.fragment).ok()
    }
}

/// Where a jump goes on: [`Prediction`] says what these are.
struct Kept {
    unit: u64,
    target: i32,
    hot: u32,
}

impl Kept {
    fn predicted(self, slot: u32, of: &FragmentInfo) -> Prediction {
        let Self { unit, target, hot } = self;
        Prediction {
            slot,
            head: of.head.0,
            own: of.entry(),
            unit,
            target,
            hot,
        }
    }
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
        self.predict_by(slots, (head, own), target, CachePc(entry))
            .then_some(())
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

    /// Where jumps in `unit` are predicted to go, according to `links`.
    pub(super) fn predictions_of(&self, unit: &Bound, links: &LinksOfUnits) -> Vec<Prediction> {
        let prediction = |(slot, entry): (u64, u64)| {
            let slot = unit.number_of_slot(slot)?;
            let of = unit.unit.fragment_with_slot(slot).ok()??;
            Some(self.kept(entry, &[])?.predicted(slot, &of))
        };
        links.of(unit).filter_map(prediction).collect()
    }

    /// Where jumps in unit number `n` of those that were `written` just now are predicted to go: the run has
    /// seen it in code of its own.
    pub(super) fn foreseen_in(&self, n: usize, written: &[(ImageId, Bound)]) -> Vec<Prediction> {
        let prediction = |(first, site): (u64, u64)| {
            let fresh = self.fragment_at(site)?;
            let nth = u32::try_from(first.checked_sub(fresh.space().slots)? / 8).ok()?;
            let of = Place::of(fresh).within(&written[n])?;
            let slot = Some(of.slots.start + nth).filter(|slot| of.slots.contains(slot))?;
            let entry = fresh.site().predicted(first)?;
            Some(self.kept(entry, written)?.predicted(slot, &of))
        };
        self.fresh.predicted().filter_map(prediction).collect()
    }

    /// Where the fragment is kept that is entered at cache address `entry`: in a unit of those that run, or of
    /// the `written` ones.
    fn kept(&self, entry: u64, written: &[(ImageId, Bound)]) -> Option<Kept> {
        let Some(fresh) = self.fragment_at(entry) else {
            let (_, unit) = self.units.at(entry)?;
            let hot = unit.hot_offset(entry)?;
            let (target, _) = unit.fragment_entered_at(hot)?;
            return Some(Kept {
                unit: unit.checksum(),
                target: target.0,
                hot,
            });
        };
        let place = Place::of(fresh);
        let found = written.iter().find_map(|it| Some((it, place.within(it)?)));
        found.map(|((_, unit), info)| Kept {
            unit: unit.checksum(),
            target: info.head.0,
            hot: info.entry(),
        })
    }
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
