//! Stubs of a unit: verified with the code that leaves by them, or all at once.

use super::admit::{fix, make_executable};
use super::bound::{Bound, ColdGate};
use crate::figures::Figures;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_images::Home;
use ppin_persist::{CodeGroup, MovedUnit, Reject};

impl Bound {
    /// Whether `addr` lies among the stubs.
    pub(crate) fn is_stub(&self, addr: u64) -> bool {
        self.geometry.cold.contains(&(addr - self.addr))
    }

    /// The stubs that are let run with `fragments`: theirs, but with the first ones of the unit all that there
    /// are, so that they are one mapping, and no call is needed for others later.
    pub(super) fn stubs_with(
        &mut self,
        fragments: &Range<u32>,
        image: Home<'_>,
    ) -> Result<Vec<CodeGroup>, Reject> {
        let is_first = !self.cold_gates.contains(&ColdGate::Open);
        if is_first && !self.is_moved(image.base) && self.are_all_stubs_sound() {
            return Ok(self.all_stubs().collect());
        }
        self.unready_stubs(fragments, image)
    }

    /// Whether all stubs are what was written; it is looked at if no plan says so.
    fn are_all_stubs_sound(&mut self) -> bool {
        let sound = || self.all_stubs().all(|cold| self.check_cold(&cold).is_ok());
        self.planned.stubs = self.planned.stubs || sound();
        self.planned.stubs
    }

    fn all_stubs(&self) -> impl Iterator<Item = CodeGroup> + '_ {
        (0..self.unit.cold_groups()).filter_map(|number| self.unit.cold_group(number))
    }

    pub(super) fn check_cold(&self, cold: &CodeGroup) -> Result<(), Reject> {
        if self.cold_gates[cold.number as usize] != ColdGate::Closed {
            return Ok(());
        }
        self.unit.check_cold(
            cold.number,
            self.group_bytes(self.geometry.cold.start, cold),
        )
    }

    /// The cold groups that hold the stubs of `fragments`.
    pub(super) fn cold_groups_of(&self, fragments: &Range<u32>) -> Result<Vec<CodeGroup>, Reject> {
        let first = self.unit.info(fragments.start)?;
        let last = self.unit.info(fragments.end.saturating_sub(1))?;
        let number = |off: u32| self.unit.cold_group_at(off).map(|g| g.number);
        let (Some(start), Some(end)) = (
            number(first.cold.start),
            number(last.cold.end.saturating_sub(1)),
        ) else {
            return Ok(Vec::new());
        };
        Ok((start..=end)
            .filter_map(|n| self.unit.cold_group(n))
            .collect())
    }

    /// Those of the stubs of `fragments` that may have to be verified or fixed before they run: none where all run
    /// with the first code of the unit. (To find stubs, records are read that nothing else has touched.)
    pub(super) fn unready_stubs(
        &self,
        fragments: &Range<u32>,
        image: Home<'_>,
    ) -> Result<Vec<CodeGroup>, Reject> {
        if self.planned.stubs && !self.is_moved(image.base) {
            return Ok(Vec::new());
        }
        self.cold_groups_of(fragments)
    }

    /// Lets the stubs at `offset` run: they were verified with the code that uses
    /// them.
    pub(super) fn open_cold(
        &mut self,
        offset: u32,
        image: Home<'_>,
        figures: &mut Figures,
    ) -> bool {
        let Some(group) = self.unit.cold_group_at(offset) else {
            return false;
        };
        let opened = self
            .check_cold(&group)
            .and_then(|()| self.fix_cold(&group, image))
            .and_then(|()| self.run_cold(&[group]));
        if let Err(e) = &opened {
            figures.note(alloc::format!("{}: {e}", image.path()));
        }
        opened.is_ok()
    }

    /// Fixes stubs if they lie elsewhere.
    pub(super) fn fix_cold(&mut self, group: &CodeGroup, image: Home<'_>) -> Result<(), Reject> {
        if self.cold_gates[group.number as usize] != ColdGate::Closed {
            return Ok(());
        }
        if self.is_moved(image.base) {
            let start = self.cold() + u64::from(group.offset);
            let moved = MovedUnit::new(&self.unit, self.hot(), image.base);
            fix(start, group.len, |bytes| moved.fix_cold(group, bytes))?;
        }
        self.cold_gates[group.number as usize] = ColdGate::Ready;
        Ok(())
    }

    /// Lets stubs run: `groups`, which are ready, in their order.
    fn run_cold(&mut self, groups: &[CodeGroup]) -> Result<(), Reject> {
        if let Some(closed) = self.closed_stubs(groups) {
            make_executable(closed.start, closed.end - closed.start)?;
            self.note_open(groups);
        }
        Ok(())
    }

    /// From the first to the last of the stubs `groups` that do not run yet (cache addresses).
    pub(super) fn closed_stubs(&self, groups: &[CodeGroup]) -> Option<Range<u64>> {
        let closed = |group: &&CodeGroup| self.cold_gates[group.number as usize] != ColdGate::Open;
        let (first, last) = (groups.iter().find(closed)?, groups.iter().rfind(closed)?);
        let start = self.cold() + u64::from(first.offset);
        Some(start..self.cold() + u64::from(last.offset) + u64::from(last.len))
    }

    pub(super) fn note_open(&mut self, stubs: &[CodeGroup]) {
        for group in stubs {
            self.cold_gates[group.number as usize] = ColdGate::Open;
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::unit::shelf::{Shelf, large};
    use ppin_persist::{GROUP, UnitFile};

    /// Two traces whose stubs are in groups of their own.
    fn groups() -> [(ppin_relocator::Fragment, u32); 2] {
        let exits: Vec<u64> = (0..1500).map(|n| 0x100 + 4 * n).collect();
        [large(0, &exits), large(0x40, &exits)]
    }

    fn gates(shelf: &Shelf) -> &[ColdGate] {
        &shelf.units()[0].cold_gates
    }

    #[test]
    fn all_stubs_run_with_the_first_code_of_a_unit() {
        let mut shelf = Shelf::holding(&groups());
        shelf.find(0).expect("kept");
        assert!(gates(&shelf).len() > 1);
        assert!(gates(&shelf).iter().all(|gate| *gate == ColdGate::Open));
    }

    #[test]
    fn damaged_stubs_are_the_loss_of_their_code_alone() {
        let mut shelf = Shelf::new();
        let mut bytes = shelf.freeze(&groups());
        let file = UnitFile::open(&bytes, None).expect("it is sound");
        let cold = file.unit().geometry().cold.clone();
        assert!(cold.end - cold.start > GROUP as u64);
        bytes[cold.end as usize - 1] ^= 1;
        shelf.publish(0, &bytes);
        shelf.find(0).expect("kept");
        assert_eq!(gates(&shelf).first(), Some(&ColdGate::Open));
        assert_eq!(gates(&shelf).last(), Some(&ColdGate::Closed));
        assert_eq!(shelf.find(0x40), None);
    }
}
