//! Which runs have asked for the code that a run merges, as far as is known. What more of them have asked for
//! comes first in the merged unit: so what runs use lies together, and is admitted without all that lay between.

use alloc::vec::Vec;
use core::ops::Range;
use ppin_codecache::fresh::{FragmentId, Reached};
use ppin_images::ImageId;
use ppin_persist::paths::UnitName;
use ppin_persist::start::History;
use ppin_process::vm::Vm;

/// Histories of fragments, by ranges of their numbers, which ascend.
type Histories = Vec<(Range<u32>, History)>;

/// What is known of the fragments of an image.
pub(super) struct Asked {
    /// Of the units that the run has mapped.
    mapped: Vec<(UnitName, Histories)>,
    /// Of the unit that it writes.
    own: Vec<History>,
    /// Of all others: no run of the program has needed them.
    none: History,
}

impl Asked {
    /// Of image `id`, of which the run writes the `fresh` fragments.
    pub(super) fn of(vm: &Vm, id: ImageId, fresh: &[FragmentId]) -> Self {
        let code = vm.code();
        let units = code.units().of(id).iter();
        let none = History::unasked(code.runs_before(id));
        let executed = |id: &FragmentId| code.fragment(*id).unsaved() != Some(Reached::Never);
        Self {
            mapped: units
                .map(|unit| (unit.name(), code.histories_of(id, unit)))
                .collect(),
            own: fresh.iter().map(|id| none.after(executed(id))).collect(),
            none,
        }
    }

    /// Whether the run has executed nothing that it writes.
    pub(super) fn is_nothing_new(&self) -> bool {
        !self.own.iter().any(|history| history.is_last())
    }

    /// Of fragment `number` of unit `name`, or of the new unit, which has no name yet.
    pub(super) fn history(&self, name: Option<UnitName>, number: u32) -> History {
        let mapped = |name| self.mapped.iter().find(|(unit, _)| *unit == name);
        let known = match name {
            Some(name) => mapped(name).and_then(|(_, histories)| at(histories, number)),
            None => self.own.get(number as usize).copied(),
        };
        known.unwrap_or(self.none)
    }
}

/// The history of fragment `number`.
fn at(histories: &Histories, number: u32) -> Option<History> {
    let behind = histories.partition_point(|(range, _)| range.start <= number);
    let (range, history) = histories.get(behind.checked_sub(1)?)?;
    range.contains(&number).then_some(*history)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_in_one_of_the_ranges_or_in_none() {
        let [one, other] = [1, 2].map(History::unasked);
        let histories = [(1..3, one), (5..8, other)].to_vec();
        let found: Vec<_> = (0..9).map(|n| at(&histories, n)).collect();
        let (one, other) = (Some(one), Some(other));
        let wanted = [None, one, one, None, None, other, other, other, None];
        assert_eq!(found, wanted);
        assert_eq!(at(&Vec::new(), 0), None);
    }
}
