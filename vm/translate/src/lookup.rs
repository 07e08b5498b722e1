//! Lookup of a translation: in the code cache, in the database, or made now.

use crate::{aside, changes, compile, sequence};
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::boot::flag;
use ppin_abi::context::Context;
use ppin_codecache::fresh::FragmentId;
use ppin_images::Region;
use ppin_process::vm::Vm;

/// Returns the translation of `pc` under `context`: from the code cache, from the database, or made
/// now.
pub fn lookup(vm: &mut Vm, pc: AppPc, context: Context) -> CachePc {
    lookup_for(vm, pc, context, false)
}

/// The same of a place that an indirect branch leads to.
pub fn lookup_indirect(vm: &mut Vm, pc: AppPc) -> CachePc {
    lookup_for(vm, pc, Context::CANONICAL, true)
}

fn lookup_for(vm: &mut Vm, pc: AppPc, context: Context, arrives: bool) -> CachePc {
    let context = effective(vm, pc, context);
    if let Some(entry) = sequence::entry(vm, pc, context) {
        return entry;
    }
    if let Some(id) = vm.code().known(pc, context) {
        let fresh = vm.code().fragment(id);
        if !context.contains(Context::VOLATILE) || compile::unchanged(fresh) {
            return fresh.entry();
        }
        changes::discard(vm, id);
    }
    if let Some(entry) = compile::wake(vm, pc, context) {
        return entry;
    }
    let may_enter = !arrives && aside::may_enter(vm, pc, context);
    if let Some(entry) = find_persisted(vm, pc, context, may_enter) {
        let at = entry.0;
        vm.log_at(format_args!("kept code at {at:#x} for"), pc);
        return entry;
    }
    if may_enter && let Some(entry) = vm.code_mut().side_entrance(pc) {
        let at = entry.0;
        vm.log_at(
            format_args!("code in the middle of a trace, at {at:#x}, for"),
            pc,
        );
        return entry;
    }
    // (Recurses once at most: after that, stores are watched for good.)
    match compile::compile(vm, pc, context, arrives) {
        Some(id) => {
            link_to_known(vm, id);
            vm.code().fragment(id).entry()
        }
        None => lookup(vm, pc, context),
    }
}

/// Links the exits of the new fragment `id` that lead to fresh code. Most of them will be taken: then the VM
/// need not be entered for it. (A trap, which may be an old one, has none.)
fn link_to_known(vm: &mut Vm, id: FragmentId) {
    let mut numbers = 0..;
    while let Some(exit) = numbers.next().and_then(|n| vm.code().exit_of(id, n)) {
        if let Some(to) = linkable(vm, exit.target, exit.context) {
            vm.code_mut().link_new(&exit, to);
        }
    }
}

/// The fresh translation that [`lookup`] would find, if it may be linked to.
fn linkable(vm: &mut Vm, pc: AppPc, context: Context) -> Option<CachePc> {
    let (entry, linked) = match vm.code().known(pc, context) {
        Some(id) => {
            let fresh = vm.code().fragment(id);
            (fresh.entry(), fresh.may_be_linked_at(fresh.entry()))
        }
        None => (aside::entrance(vm, pc, context)?, true),
    };
    let may = linked && may_link_at_all(vm);
    let found = may && effective(vm, pc, context) == context;
    (found && sequence::entry(vm, pc, context).is_none()).then_some(entry)
}

/// Whether a fragment may be linked to `entry`. The code behind a link must be valid until the link
/// is removed.
#[must_use]
pub fn may_link(vm: &Vm, entry: CachePc) -> bool {
    let fresh = vm.code().fragment_at(entry.0);
    may_link_at_all(vm) && fresh.is_none_or(|fresh| fresh.may_be_linked_at(entry))
}

fn may_link_at_all(vm: &Vm) -> bool {
    vm.config().flags & flag::LOCKSTEP == 0
}

/// The translation of `pc` under `context` in the database's units, if code there is as ordinary
/// as `context` says and nothing else takes its place. `directly`: no indirect branch leads there.
pub(crate) fn persisted(
    vm: &mut Vm,
    pc: AppPc,
    context: Context,
    directly: bool,
) -> Option<CachePc> {
    let other = effective(vm, pc, context) != context
        || sequence::entry(vm, pc, context).is_some()
        || vm.code().known(pc, context).is_some();
    if other {
        None
    } else {
        let may_enter = directly && aside::may_enter(vm, pc, context);
        find_persisted(vm, pc, context, may_enter)
    }
}

/// The translation of `pc` in the database's units; `aside`: it may lie in the middle of a trace.
fn find_persisted(vm: &mut Vm, pc: AppPc, context: Context, aside: bool) -> Option<CachePc> {
    let (code, library) = vm.code_and_library();
    code.find_persisted(library, pc, context, aside)
}

/// The context for `pc`: code whose changes the VM cannot notice is translated with more
/// assumptions.
fn effective(vm: &mut Vm, pc: AppPc, context: Context) -> Context {
    let mut context = context.without(Context::CAREFUL.with(Context::WATCHED));
    if !vm.rseq().near(pc).is_empty() {
        // (Restartable sequences, and what leads to them, have entries of their own.)
        context = context.without(Context::CALLED);
    }
    let context = if vm.rseq().is_watching() {
        context.with(Context::WATCHED)
    } else {
        context
    };
    let shared = ppin_process::app_code::region(vm, pc).filter(|r: &Region| r.shared);
    if shared.is_none() {
        changes::come_back(vm, pc.0);
        if !vm.code().guards().is_volatile(pc.0) {
            return context;
        }
    }
    let assumed = vm.code().guards().assumed(pc.0, shared.is_some());
    let aliased = assumed.contains(Context::COMPARED) && shared.is_some_and(|r| !r.writable);
    let assumed = if aliased {
        assumed.with(Context::ALIASED)
    } else {
        assumed
    };
    context.with(assumed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{RET, World};
    use ppin_os::peek;

    #[test]
    fn a_trace_is_translated_once() {
        let mut world = World::read_only();
        world.put(0, &[0x90, RET, 0x90, RET]);
        let entry = world.look_up(0);
        assert_eq!(world.look_up(0), entry);
        assert_ne!(world.look_up(2), entry);
        assert_eq!(world.compiled(), 2);
        assert_eq!(world.fresh(entry).context(), Context::CANONICAL);
    }

    /// Where the only exit of the fragment at `entry` leads.
    fn exit_of(world: &World, entry: CachePc) -> u64 {
        let slot = world.fresh(entry).space().slots;
        peek::read_value(slot).expect("its slot")
    }

    #[test]
    fn exits_to_what_is_translated_already_are_linked_at_once() {
        const JUMP_BACK: [u8; 2] = [0xeb, 0xee];
        let mut world = World::read_only();
        world.put(0, &[RET]);
        world.put(16, &JUMP_BACK);
        let early = world.look_up(16);
        let back = world.look_up(0);
        assert_ne!(exit_of(&world, early), back.0, "it was not known then");
        world.put(32, &[0xeb, 0xde]);
        let late = world.look_up(32);
        assert_eq!(exit_of(&world, late), back.0);
        let mut world = World::with_flags(flag::LOCKSTEP);
        world.put(0, &[RET]);
        world.put(16, &JUMP_BACK);
        let back = world.look_up(0);
        let late = world.look_up(16);
        assert_ne!(exit_of(&world, late), back.0);
    }

    #[test]
    fn exits_to_what_must_be_looked_at_again_are_not() {
        let mut world = World::writable();
        crate::changes::give_up_guards(&mut world.vm);
        world.put(0, &[RET]);
        world.put(16, &[0xeb, 0xee]);
        let back = world.look_up(0);
        let volatile = world.fresh(back).context();
        assert!(volatile.contains(Context::VOLATILE));
        let late = world.look_up(16);
        assert_ne!(exit_of(&world, late), back.0);
    }

    #[test]
    fn assumptions_of_the_caller_do_not_outlive_their_reason() {
        let mut world = World::read_only();
        world.put(0, &[RET]);
        let pc = world.pc(0);
        let asked = Context::CAREFUL
            .with(Context::WATCHED)
            .with(Context::CONTINUATION);
        let entry = lookup(&mut world.vm, pc, asked);
        assert_eq!(world.fresh(entry).context(), Context::CONTINUATION);
    }

    #[test]
    fn code_that_compares_itself_is_made_again_only_if_it_has_changed() {
        let mut world = World::writable();
        crate::changes::give_up_guards(&mut world.vm);
        world.put(0, &[0x90, RET]);
        let entry = world.look_up(0);
        assert!(world.fresh(entry).context().contains(Context::VOLATILE));
        assert_eq!(world.look_up(0), entry);
        world.put(0, &[RET]);
        let changed = world.look_up(0);
        assert_ne!(changed, entry);
        assert_eq!(world.fresh(changed).code().source_len, 1);
    }

    #[test]
    fn while_stores_are_watched_all_code_is() {
        let mut world = World::read_only();
        world.put(0, &[RET]);
        world.vm.rseq_mut().begin_watching();
        let entry = world.look_up(0);
        assert_eq!(world.fresh(entry).context(), Context::WATCHED);
    }
}
