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

/// Whether any memory of the runtime lies in `start .. end`.
#[must_use]
pub fn overlap(vm: &Vm, start: u64, end: u64) -> bool {
    start < end && all(vm).any(|(first, last)| first < end && start < last)
}
