//! How much of an image's code is let run at the start.
//!
//! Runs with other arguments use other code: together many times as much as each of them, as the
//! shells of a test suite do. Code that is let run at the start and not needed costs as much as to ask
//! for what is. So a plan takes in what later runs use while that is hardly more than the first plan.

use core::ops::Range;
use ppin_persist::start::{self, Compared, UnitPlan};

/// Room for groups that are let run at the start, besides those that the last plan names.
pub(super) struct Room {
    /// `None`: there is no plan of the image yet.
    left: Option<u32>,
    /// [`UnitPlan::at_first`] of units that were merged into another.
    merged: u32,
}

impl Room {
    /// Beside the parts of the last plan for all units that this process has of the image; others are
    /// `gone` with their units, which were merged into another.
    pub(super) fn beside<'a>(
        parts: impl Iterator<Item = &'a UnitPlan>,
        gone: impl Iterator<Item = &'a UnitPlan>,
    ) -> Self {
        let (mut first, mut named) = (0u32, 0u32);
        for part in parts {
            first = first.saturating_add(part.at_first);
            named = named.saturating_add(start::count(&part.eager));
        }
        let merged = gone.fold(0u32, |sum, part| sum.saturating_add(part.at_first));
        first = first.saturating_add(merged);
        let most = first.saturating_add(first / 2);
        Self {
            left: (first > 0).then(|| most.saturating_sub(named)),
            merged,
        }
    }

    /// Takes room for `more` groups; whether there is.
    pub(super) fn take(&mut self, more: u32) -> bool {
        let Some(left) = &mut self.left else {
            return true;
        };
        let rest = left.checked_sub(more);
        *left = rest.unwrap_or(*left);
        rest.is_some()
    }

    /// [`UnitPlan::at_first`] of a unit that the last plan does not name.
    pub(super) fn at_first(&self, eager: &[Range<u32>]) -> u32 {
        match self.left {
            None => start::count(eager),
            Some(_) => 0,
        }
    }

    /// Lets nothing of a unit that was written just now run at the start if there is no room for it.
    pub(super) fn limit(&mut self, part: &mut UnitPlan) {
        let groups = start::count(&part.eager);
        let first = self.at_first(&part.eager);
        part.at_first = first.saturating_add(self.merged);
        if !self.take(groups) {
            part.eager.clear();
            part.compared = Compared::default();
            part.targets.clear();
            part.predictions.clear();
            part.beyond = groups;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn part(at_first: u32, eager: u32) -> UnitPlan {
        UnitPlan {
            image: [0; 32],
            name: (0, 0),
            unit: 0,
            file: start::FileState::default(),
            sound: start::runs(0..eager),
            stubs: true,
            seen: vec![],
            eager: start::runs(0..eager),
            at_first,
            compared: Compared::default(),
            targets: vec![],
            links: vec![],
            predictions: vec![],
            beyond: 0,
            unlearnt: 0,
            idle: 0,
        }
    }

    fn limited(room: &mut Room, groups: u32) -> UnitPlan {
        let mut part = part(0, groups);
        room.limit(&mut part);
        part
    }

    #[test]
    fn a_first_plan_has_room_for_all() {
        let mut room = Room::beside([].iter(), [].iter());
        assert!(room.take(1000));
        let part = limited(&mut room, 50);
        assert_eq!((part.at_first, start::count(&part.eager)), (50, 50));
    }

    #[test]
    fn later_ones_take_in_half_as_much() {
        let old = [part(10, 10), part(0, 2)];
        let mut room = Room::beside(old.iter(), [].iter());
        assert!(!room.take(4) && room.take(2));
        let part = limited(&mut room, 2);
        assert_eq!((part.at_first, part.beyond), (0, 2));
        assert!(part.eager.is_empty() && !part.sound.is_empty());
        assert_eq!(start::count(&limited(&mut room, 1).eager), 1);
    }

    #[test]
    fn a_merged_unit_has_the_room_of_those_in_it() {
        let gone = [part(10, 10), part(0, 3)];
        let mut room = Room::beside([].iter(), gone.iter());
        let merged = limited(&mut room, 14);
        assert_eq!((merged.at_first, start::count(&merged.eager)), (10, 14));
        let mut room = Room::beside([].iter(), gone.iter());
        assert!(limited(&mut room, 16).eager.is_empty());
    }
}
