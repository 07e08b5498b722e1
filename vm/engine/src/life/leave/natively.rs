//! How threads go on natively: with the program's own registers, dispositions and signals.

use super::ask::{self, is_request};
use super::gather::{self, Verdict};
use super::last_steps::LastSteps;
use alloc::vec::Vec;
use ppin_abi::addr::AppPc;
use ppin_os::frame::{SigInfo, UContext, greg};
use ppin_os::signals::{self, KernelSigaction};
use ppin_process::ours::{self, Range};
use ppin_process::signal::{HOLD_FAULTS_TOO, IGNORE, MAX_SIGNAL, bit};
use ppin_process::thread::Thread;
use ppin_process::{gate, pending, vm};

/// Called when the thread, at `pc` in the program's state, is about to die of `info`, but another
/// thread is the leader. If the leader has all threads leave, the signal is delivered natively. If
/// the leader dies, this thread dies with it. `false`: this thread must die itself, while other
/// threads use the memory.
pub(crate) fn dying_with_others(
    thread: &mut Thread,
    context: &mut UContext,
    info: &SigInfo,
    pc: AppPc,
) -> bool {
    match gather::halt(thread) {
        Verdict::Leave => keep(thread, info),
        Verdict::Die => {}
        Verdict::Stay => return false,
    }
    go(thread, context, pc)
}

/// Makes the signal of `info` pending again, unless it was the request.
pub(super) fn keep(thread: &mut Thread, info: &SigInfo) {
    if !is_request(info) {
        thread.signals.waiting = *info;
        thread.pending = 1;
    }
}

/// Called in the VM's signal handler, with all app registers in `context`: the app goes on natively
/// at `pc`.
pub(crate) fn hand_over(thread: &mut Thread, context: &mut UContext, pc: AppPc) -> ! {
    signals::set_mask(HOLD_FAULTS_TOO);
    // (The process that has asked waits for the mark, and then for the program's own mask.)
    ask::mark();
    give_back_actions(thread);
    go_last(thread, context, pc, true)
}

/// Lets the last thread go on natively, and unmaps the runtime's memory if no other thread may use
/// it (`alone`).
pub(super) fn go_last(thread: &mut Thread, context: &mut UContext, pc: AppPc, alone: bool) -> ! {
    make_native(thread, context, pc);
    let ours: Vec<Range> = ours::all(&vm::lock()).collect();
    if alone && let Some(steps) = LastSteps::new(context, &ours, &gather::frames(thread)) {
        thread.load_app_gs();
        // SAFETY: all signals are blocked, and no other thread runs the runtime's code.
        unsafe { steps.take() }
    }
    restore(thread, context)
}

/// Lets one of several threads go on natively at `pc`.
pub(super) fn go(thread: &mut Thread, context: &mut UContext, pc: AppPc) -> ! {
    make_native(thread, context, pc);
    restore(thread, context)
}

/// Returns to the program by a frame on the VM's stack, which is empty outside the VM. The frame
/// cannot lie on the signal stack: there the kernel lets no other signal stack be set, and newer
/// kernels set it before they leave the current one.
fn restore(thread: &Thread, context: &UContext) -> ! {
    let frame = ((thread.vm_sp - size_of::<UContext>() as u64) & !15) as *mut UContext;
    // SAFETY: that stack is not in use while the thread is not in the VM.
    unsafe { frame.write(*context) };
    thread.load_app_gs();
    // SAFETY: the kernel's own frame, edited.
    unsafe { gate::sigreturn(frame) }
}

/// Makes `context` the program's own state at `pc`; pending and held signals are given to the
/// kernel.
pub(crate) fn make_native(thread: &mut Thread, context: &mut UContext, pc: AppPc) {
    queue_anew(thread);
    let handler = next_handler(thread);
    let in_call = &mut thread.signals.in_call;
    let pc = handler.map_or(pc, |action| in_call.left(context, pc, action.flags));
    in_call.make_anew(context, pc);
    context.gregs[greg::RIP] = pc.0;
    let flags = &mut context.gregs[greg::FLAGS];
    *flags = thread.signals.trap_flag.shown(*flags);
    context.sigmask = thread.signals.mask;
    context.stack = thread.signals.alt.as_set();
}

/// The handler that the kernel will enter as soon as the program's signals are unblocked, if one waits for that.
fn next_handler(thread: &Thread) -> Option<KernelSigaction> {
    let actions = &thread.process().actions;
    let waiting = signals::pending() & !thread.signals.mask;
    // (Those that were not asked for have none.)
    let mut known =
        (1..=MAX_SIGNAL).filter(|signal| waiting & !actions.unasked() & bit(*signal) != 0);
    let action = known.next().map(|signal| actions.get(signal));
    action.filter(|action| action.handler > IGNORE)
}

/// Installs the program's own signal dispositions in the kernel.
pub(crate) fn give_back_actions(thread: &Thread) {
    let actions = &thread.process().actions;
    for signal in (1..=MAX_SIGNAL).filter(|signal| actions.unasked() & bit(*signal) == 0) {
        // SAFETY: a disposition that the app itself has asked for.
        let _ = unsafe { signals::sigaction(signal, Some(&actions.get(signal))) };
    }
}

/// Gives pending and held signals to the kernel, which blocks all at the moment.
fn queue_anew(thread: &mut Thread) {
    if core::mem::take(&mut thread.pending) != 0 {
        signals::queue_to_self(&thread.signals.waiting);
    }
    pending::hand_over(thread);
}
