//! Which addresses are ours: what a program must not find in its list of mappings
//! , nor map anything over .

use crate::vm::{self, Vm};
use ppin_codecache::fresh::FreshCode;
use ppin_codecache::fresh::arena::Chunk;
use ppin_os::{heap, place};

/// Start and end.
pub type Range = (u64, u64);

fn chunks(fresh: &FreshCode) -> impl Iterator<Item = &Chunk> {
    let retired = fresh.retired.iter().flat_map(|it| it.chunks());
    fresh.chunks.iter().chain(&fresh.spare).chain(retired)
}

/// All of them, in no order.
pub fn all(vm: &Vm) -> impl Iterator<Item = Range> {
    [vm::runtime(), place::claimed()]
        .into_iter()
        .chain(heap::ranges())
        .chain(chunks(&vm.code.fresh).map(|it| (it.base, it.base + it.len)))
        .chain(vm.code.units.all().map(|it| it.range()))
}

/// Whether anything of ours lies in `start .. end`.
#[must_use]
pub fn overlap(vm: &Vm, start: u64, end: u64) -> bool {
    start < end && all(vm).any(|(first, last)| first < end && start < last)
}
