//! What is known of which runs have asked for which code of a unit, this one included.

use super::bound::Bound;
use super::library::Library;
use super::planned::Planned;
use super::written::Written;
use crate::cache::CodeCache;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_images::ImageId;
use ppin_persist::start::{self, History, UnitPlan};
use ppin_persist::unit_flag;

impl CodeCache {
    /// Number of runs before this one that could tell what they needed of the image's code. Of code that is
    /// new since they have needed nothing.
    #[must_use]
    pub fn runs_before(&self, id: ImageId) -> u32 {
        let runs = self.units.of(id).iter().map(Bound::runs_before);
        runs.max().unwrap_or_default()
    }

    /// Of fragment ranges of `unit`, one of the image's, which runs have asked for them.
    #[must_use]
    pub fn histories_of(&self, id: ImageId, unit: &Bound) -> Vec<(Range<u32>, History)> {
        let Planned { histories, own, .. } = &unit.planned;
        let histories = unit.histories(histories, self.runs_before(id), *own);
        let groups = (0..).zip(histories);
        let of = |(number, history): (u32, History)| {
            let group = unit.unit.hot_group(number)?;
            Some((group.fragments, history))
        };
        groups.map_while(of).collect()
    }

    /// Of the groups of `unit`, one of the image's, which runs have asked for them, according to the last plan,
    /// `old`, and to this run.
    pub(super) fn histories_now(
        &self,
        id: ImageId,
        unit: &Bound,
        old: &[UnitPlan],
    ) -> Vec<History> {
        let last = old.iter().find(|part| part.unit == unit.checksum());
        let before = last.map_or(&unit.planned.histories, |part| &part.histories);
        let counted = unit.planned.own || self.figures.counted;
        unit.histories(before, self.runs_before(id), counted)
    }

    /// Maps a unit that this process has written.
    pub fn map_written(&mut self, library: &Library, new: &Written) {
        self.note_replaced(new);
        self.map_unit(library, new.image, &new.key, &new.dir, &new.name, None);
        let runs = self.runs_before(new.image);
        let mapped = self.units.of_mut(new.image).last_mut();
        if let Some(unit) = mapped.filter(|unit| unit.name() == new.name) {
            unit.note_own(&new.histories, runs);
        }
    }

    /// Notes which units have been merged into a new one.
    pub(super) fn note_replaced(&mut self, new: &Written) {
        for unit in self.units.of_mut(new.image) {
            let replaced = new.replaces.contains(&unit.name());
            unit.planned.replaced |= replaced;
        }
    }
}

impl Bound {
    fn runs_before(&self) -> u32 {
        let histories = &self.planned.histories;
        let runs = histories.iter().map(|history| history.runs()).max();
        runs.unwrap_or_default()
            .saturating_sub(u32::from(self.planned.own))
    }

    /// Which runs have asked for each group: those `before`, or, where that says nothing, so many of which
    /// none has; and this one, which may be `counted` already.
    fn histories(&self, before: &[History], runs: u32, counted: bool) -> Vec<History> {
        let asked_for = self.asked_for();
        let of = |number: u32| {
            let before = before.get(number as usize);
            let before = before.copied().unwrap_or(History::unasked(runs));
            let asked = start::has(&asked_for, number);
            if start::has(&self.planned.let_run, number) {
                before
            } else if counted {
                before.amended(asked)
            } else {
                before.after(asked)
            }
        };
        (0..self.unit.hot_groups()).map(of).collect()
    }

    /// This process has written the unit just now. That is known of its `fragments`; if nothing is, they are
    /// new, and come after so many runs.
    pub(super) fn note_own(&mut self, fragments: &[History], runs: u32) {
        let of = |number: u32| {
            let known = fragments.get(number as usize).copied();
            known.unwrap_or_else(|| self.of_new(number, runs))
        };
        self.planned.histories = History::of_groups(&self.unit, of);
        self.planned.own = true;
    }

    /// A new fragment was executed by the run that has written it, or it has foreseen that others will.
    fn of_new(&self, number: u32, runs: u32) -> History {
        let info = self.unit.info(number);
        let executed = info.is_ok_and(|info| info.flags & unit_flag::ANTICIPATED == 0);
        History::unasked(runs).after(executed)
    }
}
