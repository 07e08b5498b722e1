//! Hints of forked children: what they have saved is mapped, and what they had to ask for is admitted, linked
//! and looked up.
//!
//! A hint is not believed: a child may be hostile. Each is looked up as if this process had come
//! there itself, but nothing is translated for it.

use crate::lookup::persisted;
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::context::Context;
use ppin_process::hints::Hint;
use ppin_process::vm::Vm;

/// Tells the parent, if this is a forked child, what was asked for; in the parent `entry` can be
/// found, too, if it lies in a unit.
pub fn note(vm: &Vm, hint: Hint, entry: CachePc) {
    if vm.code().in_units(entry.0) {
        vm.hints().note(hint);
    }
}

/// Follows what children have noted since the last time, and tells the parent, if this is a forked child itself.
pub fn follow(vm: &mut Vm) {
    let hints = vm.hints_mut().take();
    hints.iter().for_each(|hint| vm.hints().note(*hint));
    let saved = |hint: &Hint| match hint {
        Hint::Saved(address) => Some(AppPc(*address)),
        _ => None,
    };
    if hints.iter().any(|hint| saved(hint).is_some()) {
        // Who has children that translate will have more of them, and each would make the decoder's tables.
        ppin_decode::prepare();
    }
    let (code, library) = vm.code_and_library();
    code.look_again(library, hints.iter().filter_map(saved));
    for hint in hints {
        match hint {
            Hint::Saved(_) => {}
            Hint::Group(addr) => vm.code_mut().admit_ahead(addr),
            Hint::Exit(stub) => link(vm, stub),
            Hint::Indirect(pc) => link_indirect(vm, AppPc(pc)),
            Hint::PassedOn(site) => pass_on(vm, site),
        }
    }
}

fn link(vm: &mut Vm, stub: u64) {
    if vm.code().in_units(stub)
        && let Some(exit) = vm.code().exit_at(stub)
        && let Some(entry) = persisted(vm, exit.target, exit.context, true)
    {
        vm.code_mut().link(&exit, entry);
    }
}

fn link_indirect(vm: &mut Vm, target: AppPc) {
    if let Some(entry) = persisted(vm, target, Context::CANONICAL, false) {
        vm.code_mut().link_indirect(target, entry);
    }
}

fn pass_on(vm: &mut Vm, site: u64) {
    if let Some(target) = vm.code().passes_on(site)
        && let Some(entry) = persisted(vm, target, Context::CALLED, true)
    {
        vm.code_mut().predict(site, target, entry);
    }
}
