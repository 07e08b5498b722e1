//! Where an indirect branch goes on that emitted code could not tell, and how it will be told the next time.

use crate::lookup::{lookup, lookup_indirect, may_link};
use crate::{callee, hints};
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::context::Context;
use ppin_codecache::CodeOf;
use ppin_process::hints::Hint;
use ppin_process::sampling;
use ppin_process::thread::Thread;
use ppin_process::vm::Vm;

/// Where `thread` goes on, which has left the cache by an indirect branch: the table does not hold its target,
/// or one of the thread's countdowns has ended.
pub fn indirect(vm: &mut Vm, thread: &mut Thread) -> CachePc {
    let target = AppPc(thread.operand);
    if let Some(begin) = pass_on(vm, thread, target) {
        return begin;
    }
    let entry = lookup_indirect(vm, target);
    if may_link(vm, entry) {
        let new = vm.code_mut().link_indirect(target, entry);
        hints::note(vm, Hint::Indirect(target.0), entry);
        bring_near(vm, thread, target, entry);
        predict(vm, thread, target, entry, new);
    }
    entry
}

/// Where a call goes on that has come to a jump through a sealed cell, the whole of its callee: from here on, the jump
/// passes calls on by itself.
fn pass_on(vm: &mut Vm, thread: &mut Thread, target: AppPc) -> Option<CachePc> {
    let site = thread.area.left_at;
    vm.code().passes_on(site).filter(|to| *to == target)?;
    let entry = lookup(vm, target, Context::CALLED);
    // (If the callee's unit has come with it, the jump may go there already, as an earlier run has seen.)
    if may_link(vm, entry) && vm.code().passes_on(site).is_some() {
        vm.code_mut().predict(site, target, entry)?;
        hints::note(vm, Hint::PassedOn(site), entry);
    }
    callee::begin(vm, thread, entry)
}

/// Lets the thread find `entry` by itself, if that is why it has asked: the table of all threads
/// knows the target.
fn bring_near(vm: &mut Vm, thread: &mut Thread, target: AppPc, entry: CachePc) {
    if thread.area.near_countdown == 0 {
        let longer = match sampling::is_on() {
            true => 0,
            false => vm.code_mut().bring_near(&thread.area, target, entry),
        };
        thread.wait_to_bring_near(longer);
    }
}

/// Lets the jump through a cell, or by a table, that has led the thread here go straight to `entry` from here on, if that
/// is why it has asked. Not if `target` is `new`: the first time a cell may lead to who fills it in.
fn predict(vm: &mut Vm, thread: &mut Thread, target: AppPc, entry: CachePc, new: bool) {
    if thread.area.prediction_countdown == 0 {
        let site = thread.area.left_at;
        let code = vm.code_mut();
        let site = (!new).then(|| {
            code.predict(site, target, entry)
                .or_else(|| code.lead_held(site, target, entry, &thread.regs.gpr))
        });
        thread.wait_to_predict(site.flatten().map(|code| code == CodeOf::Unit));
    }
}
