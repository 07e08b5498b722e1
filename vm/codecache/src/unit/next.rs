//! The next start plan: what this run has used and learnt, beside what the last plan says.

use super::Bound;
use super::links::LinksOfUnits;
use super::part::Learnt;
use super::watch;
use super::written::Written;
use crate::cache::CodeCache;
use alloc::vec::Vec;
use ppin_images::ImageId;
use ppin_persist::start::UnitPlan;

/// What a run leaves behind.
pub(super) struct Left<'a> {
    written: &'a [Written],
    /// Those units.
    new: Vec<(ImageId, Bound)>,
    links: LinksOfUnits,
}

impl Left<'_> {
    /// It is not needed any more.
    pub(super) fn close(self) {
        for (_, unit) in self.new {
            unit.unmap();
        }
    }

    /// Number of groups of new units that the run has used.
    pub(super) fn used(&self) -> u32 {
        self.new.iter().map(|(_, unit)| unit.written()).sum()
    }

    /// Whether the unit that `part` stands for was merged into another.
    fn replaces(&self, part: &UnitPlan) -> bool {
        self.written.iter().any(|unit| unit.replaces(part))
    }
}

impl CodeCache {
    /// What the run leaves, which has `written` these units just now.
    pub(super) fn left<'a>(&mut self, written: &'a [Written]) -> Left<'a> {
        let mut new = Vec::new();
        for file in written {
            self.note_replaced(file);
            let unit = self.peek_unit(&file.dir, &file.name, &file.key, file.image);
            if let Some(mut unit) = unit {
                unit.note_own(&file.histories, self.runs_before(file.image));
                new.push((file.image, unit));
            }
        }
        Left {
            written,
            new,
            links: self.links_of_units(),
        }
    }

    /// The plan that follows on `old`.
    pub(super) fn next_plan(&self, old: &[UnitPlan], left: &Left<'_>) -> Vec<UnitPlan> {
        let new = left.new.iter();
        let new = new.filter_map(|(id, unit)| self.part_of((*id, unit), &[], left));
        let mut next: Vec<UnitPlan> = new.collect();
        for id in self.images.present() {
            let units = self.units.of(id).iter();
            let units = units.filter(|unit| !unit.planned.replaced);
            next.extend(units.filter_map(|unit| self.part_of((id, unit), old, left)));
        }
        let idle = |part: &&UnitPlan| {
            let is_known = next.iter().any(|new| new.unit == part.unit);
            !is_known && !left.replaces(part)
        };
        let idle: Vec<UnitPlan> = old.iter().filter(idle).cloned().collect();
        next.extend(idle.into_iter().filter_map(UnitPlan::idle));
        self.note_watches(&mut next, old);
        next
    }

    /// What the next plan says of `unit`, one of the image's, of which `old` may say something.
    fn part_of(
        &self,
        (id, unit): (ImageId, &Bound),
        old: &[UnitPlan],
        left: &Left<'_>,
    ) -> Option<UnitPlan> {
        let learnt = Learnt {
            targets: self.targets_of(id, unit),
            links: self.links_of(id, unit, &left.links, &left.new),
            predictions: self.predictions_of(id, unit, &left.links, &left.new),
        };
        let histories = self.histories_now(id, unit, old);
        let last = old.iter().find(|part| unit.is_of(part));
        unit.plan(last, self.images.home(id), learnt, histories)
    }

    /// Says in the `next` plan which images' runs are watched.
    fn note_watches(&self, next: &mut [UnitPlan], old: &[UnitPlan]) {
        for id in self.images.present() {
            let identity = self.images.get(id).identity;
            let is_own = |part: &UnitPlan| Some(part.image) == identity;
            let watched = self.units.of(id).iter().any(|unit| unit.planned.watched);
            watch::note(
                next.iter_mut().filter(|part| is_own(part)),
                old.iter().filter(|part| is_own(part)),
                self.figures.watched && watched,
            );
        }
    }
}
