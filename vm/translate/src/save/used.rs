//! What a run has used of the units that it merges. That comes first in the merged unit: so what runs
//! use together lies together, and is admitted without all that lay between.

use alloc::vec::Vec;
use core::ops::Range;
use ppin_codecache::fresh::{FragmentId, Reached};
use ppin_codecache::image::ImageId;
use ppin_persist::paths::UnitName;
use ppin_persist::start;
use ppin_process::vm::Vm;

/// Numbers of fragments.
type Numbers = Vec<Range<u32>>;

/// Fragments that a run has used.
pub(super) struct Used {
    /// Of the units that it has mapped, as far as is known: those of groups that were asked for.
    mapped: Vec<(UnitName, Numbers)>,
    /// Of the unit that it writes.
    own: Numbers,
}

impl Used {
    /// Those of image `id`, of which the run writes the `fresh` ones.
    pub(super) fn of(vm: &Vm, id: ImageId, fresh: &[FragmentId]) -> Self {
        let units = vm.code().units().of(id).iter();
        let executed = |id: &FragmentId| vm.code().fragment(*id).unsaved() != Some(Reached::Never);
        let own = fresh.iter().zip(0..).filter(|(id, _)| executed(id));
        Self {
            mapped: units.map(|unit| (unit.name(), unit.used())).collect(),
            own: start::runs(own.map(|(_, number)| number)),
        }
    }

    /// Whether the run has executed nothing that it writes.
    pub(super) fn is_nothing_new(&self) -> bool {
        self.own.is_empty()
    }

    /// Whether fragment `number` of unit `name` is one of them, or of the new unit, which has no name yet.
    pub(super) fn has(&self, name: Option<UnitName>, number: u32) -> bool {
        let mapped = |name| self.mapped.iter().find(|(unit, _)| *unit == name);
        let numbers = match name {
            Some(name) => mapped(name).map(|(_, numbers)| numbers),
            None => Some(&self.own),
        };
        numbers.is_some_and(|numbers| is_in(numbers, number))
    }
}

/// Whether `number` is one of `numbers`, which ascend.
fn is_in(numbers: &Numbers, number: u32) -> bool {
    let behind = numbers.partition_point(|range| range.start <= number);
    behind > 0 && number < numbers[behind - 1].end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_in_one_of_the_ranges_or_in_none() {
        let numbers = start::runs([1, 2, 5, 6, 7].into_iter());
        let found: Vec<u32> = (0..10).filter(|n| is_in(&numbers, *n)).collect();
        assert_eq!(found, [1, 2, 5, 6, 7]);
        assert!(!is_in(&Numbers::new(), 0));
    }
}
