//! Code that each process has for itself.
//!
//! A loader that relocates code where it lies (`DT_TEXTREL`), or a program that patches its own, may leave other bytes
//! in each run. What is made from these is good for this run alone. The first run cannot know that, and keeps it. Where
//! kept code was found to be made from other bytes, what is made from pages that the kernel has copied for this process
//! is not kept again. All other pages are still the file's: what is made from these goes to units of its own.

use super::freeze::savable;
use alloc::vec::Vec;
use ppin_codecache::fresh::FragmentId;
use ppin_codecache::unit::Bound;
use ppin_images::ImageId;
use ppin_os::mem::{PAGE, page_down};
use ppin_os::pagemap::Pagemap;
use ppin_persist::paths::UnitName;
use ppin_process::vm::Vm;

/// Marks fragments of image `id` as saved that no later run could use.
pub(super) fn forget(vm: &mut Vm, id: ImageId) {
    if of_other_code(vm, id).next().is_none() || savable(vm, id).next().is_none() {
        return;
    }
    let (start, end) = vm.code().images().get(id).span;
    let Ok(copied) = Pagemap::open().and_then(|map| map.copied(start, end)) else {
        return;
    };
    let of_copies: Vec<FragmentId> = savable(vm, id)
        .filter(|id| is_of(vm, *id, &copied))
        .collect();
    of_copies
        .iter()
        .for_each(|id| vm.code_mut().mark_saved(*id));
}

/// Those of `names`, units of image `id`, that this run has not found to be made from other code: with what else is in
/// them that would be found again in each run.
pub(super) fn without_other_code(vm: &Vm, id: ImageId, names: &[UnitName]) -> Vec<UnitName> {
    let fits = |name: &&UnitName| of_other_code(vm, id).all(|unit| unit.name() != **name);
    names.iter().filter(fits).copied().collect()
}

/// Units of image `id` that this run has found to be made from other code than it has.
fn of_other_code(vm: &Vm, id: ImageId) -> impl Iterator<Item = &Bound> {
    let units = vm.code().units().of(id).iter();
    units.filter(|unit| unit.has_met_other_code())
}

/// Whether fragment `id` is made from one of the `pages`, which ascend.
fn is_of(vm: &Vm, id: FragmentId, pages: &[u64]) -> bool {
    let fresh = vm.code().fragment(id);
    let (start, len) = (fresh.pc().0, u64::from(fresh.code().source_len));
    let own = (page_down(start)..start + len.max(1)).step_by(PAGE as usize);
    own.into_iter()
        .any(|page| pages.binary_search(&page).is_ok())
}
