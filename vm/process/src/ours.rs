//! The runtime's own memory: a program must not find it in its list of mappings, nor map anything
//! over it.

use crate::vm::{self, Vm};
use ppin_os::{heap, place};

/// Start and end.
pub type Range = (u64, u64);

/// All ranges of the runtime's memory, in no order.
pub fn all(vm: &Vm) -> impl Iterator<Item = Range> {
    [vm::runtime(), place::claimed()]
        .into_iter()
        .chain(heap::ranges())
        .chain(vm.code().ranges())
        .chain(vm.code().idle_ranges())
}

/// The same in a process that this one was forked from, as far as this one knows.
pub fn of_parent(vm: &Vm) -> impl Iterator<Item = Range> {
    all(vm).chain([place::claimed_by_parent()])
}

/// Whether any memory of the runtime lies in `start .. end`.
#[must_use]
pub fn overlap(vm: &Vm, start: u64, end: u64) -> bool {
    start < end && all(vm).any(|(first, last)| first < end && start < last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn every_byte_of_a_range_of_ours_overlaps_and_none_beside() {
        let vm = testing::vm();
        vm::init(testing::vm(), (0x70_0000, 0x70_8000));
        let hits = [
            (0x6f_0000, 0x70_0000),
            (0x6f_0000, 0x70_0001),
            (0x70_7fff, 0x71_0000),
            (0x70_8000, 0x71_0000),
            (0x70_1000, 0x70_1000),
        ];
        let overlaps = hits.map(|(start, end)| overlap(&vm, start, end));
        assert_eq!(overlaps, [false, true, true, false, false]);
        assert_eq!(vm::describe(0x70_0010), "runtime+0x10");
        assert!(vm::is_runtime(0x70_7fff) && !vm::is_runtime(0x70_8000));
    }
}
