//! Leaving a process to itself: from then on it runs natively.
//!
//! A tracer (ptrace(2)) reads and writes the registers and the code of its tracee, steps it and
//! stops it at its system calls. It must see the program's own registers and code, and none of the
//! faults that the cache handles. So a process that has its parent trace it is left just before
//! that call ([`before_call`]). A program under ppin that attaches to another process asks first
//! that this process be left ([`ask`]). A process that is about to map something else where the
//! runtime lies is left, too. New fragments are saved; the statistics record the event. Where the
//! runtime's memory cannot be unmapped, it stays, unused.
//!
//! All threads leave together ([`gather`]). A process is left only if its memory is its own and it
//! has no filter of system calls; otherwise its threads stay in the cache. A process that dies with
//! a core file is also left, just before ([`crate::signal::dump`]).

mod ask;
pub(crate) mod gather;
pub(crate) mod last_steps;

pub(crate) use ask::{ask, is_request};
use gather::Verdict;
use ppin_os::signals;

use crate::life::end;
use crate::life::leave::last_steps::LastSteps;
use crate::signal::{deliver, native};
use crate::syscall::locked;
use alloc::vec::Vec;
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::boot::flag;
use ppin_os::filter;
use ppin_os::frame::{SigInfo, UContext, greg};
use ppin_process::ours::{self, Range};
use ppin_process::signal::{HOLD_FAULTS_TOO, MAX_SIGNAL, bit};
use ppin_process::thread::Thread;
use ppin_process::translate::Spot;
use ppin_process::vm::{self, Locked, Vm};
use ppin_process::{gate, pending, x87};
use ppin_translate::changes;

/// Reason for the statistics: the process was traced.
pub(crate) const TRACED: &str = "it was traced";

/// Whether the process of `thread` can be left, and has no other threads.
#[must_use]
pub(crate) fn is_possible(thread: &Thread) -> bool {
    let vm = vm::lock();
    vm.threads().len() == 1 && !thread.borrowed_memory && may_leave(&vm)
}

/// Whether no filter, Syscall User Dispatch or lockstep mode keeps the threads in the cache.
fn may_leave(vm: &Vm) -> bool {
    let mut all = vm.threads().all();
    let free = |it: &Thread| !it.user_dispatch.is_on() && filter::of(&it.area).is_none();
    vm.config().flags & flag::LOCKSTEP == 0 && all.all(free)
}

/// Whether all threads can leave together.
fn is_possible_for_all(vm: &Vm) -> bool {
    let mut all = vm.threads().all();
    all.all(|it| !it.borrowed_memory) && may_leave(vm)
}

/// Leaves the process at the app's system call at `pc`, which it then makes natively. Returns the
/// cache address to enter.
pub(crate) fn before_call(thread: &mut Thread, pc: AppPc, since: &str) -> CachePc {
    depart(&mut vm::lock(), since);
    thread.signals.leave_at_native = true;
    native::begin(thread, pc, CachePc(0))
}

/// Called when a signal is about to be delivered to a thread at `spot` that was asked to leave.
/// `false`: the process cannot be left, and the request is dropped.
pub(crate) fn instead_of_delivery(
    thread: &mut Thread,
    context: &mut UContext,
    info: &SigInfo,
    spot: &Spot,
) -> bool {
    if gather::is_led_by_another(thread) {
        with_others(thread, context, info, spot);
        return true;
    }
    if !all_halt(thread) {
        thread.signals.leave_requested = false;
        return false;
    }
    let spot = deliver::undo_interruption(thread, context).unwrap_or_else(|| spot.clone());
    deliver::put_right(thread, context, &spot);
    depart(&mut vm::lock(), TRACED);
    signals::set_mask(HOLD_FAULTS_TOO);
    give_back_actions(thread);
    let alone = gather::leave(thread, Verdict::Leave);
    keep(thread, info);
    ask::mark();
    go_last(thread, context, spot.pc, alone)
}

/// Whether `thread` has become the leader, and all others have halted.
fn all_halt(thread: &Thread) -> bool {
    if !is_possible_for_all(&vm::lock()) || !gather::begin(thread) {
        return false;
    }
    let halted = gather::halt_others(thread);
    if !halted {
        gather::stay(thread);
    }
    halted
}

/// Halts the thread at `spot`; it goes on as the leader decides.
fn with_others(thread: &mut Thread, context: &mut UContext, info: &SigInfo, spot: &Spot) {
    let spot = deliver::undo_interruption(thread, context).unwrap_or_else(|| spot.clone());
    deliver::put_right(thread, context, &spot);
    x87::correct_frame(context.fpstate);
    if gather::halt(thread) != Verdict::Stay {
        keep(thread, info);
        go(thread, context, spot.pc)
    }
    thread.signals.leave_requested = false;
    let spot = spot.put_right();
    if is_request(info) {
        deliver::go_on(thread, context, &spot);
    } else {
        deliver::deliver(thread, context, info, &spot, false);
    }
}

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
fn keep(thread: &mut Thread, info: &SigInfo) {
    if !is_request(info) {
        thread.signals.waiting = *info;
        thread.pending = 1;
    }
}

/// Saves and reports for the process, and lifts all guards.
fn depart(vm: &mut Locked, since: &str) {
    let program = ppin_process::report::program::program();
    let note = alloc::format!("{program}: natively from the moment {since}");
    vm.stats_mut().ran_natively(note);
    end::of_process(vm);
    changes::release_all(vm);
    locked::hand_over();
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
fn go_last(thread: &mut Thread, context: &mut UContext, pc: AppPc, alone: bool) -> ! {
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
fn go(thread: &mut Thread, context: &mut UContext, pc: AppPc) -> ! {
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
    context.gregs[greg::RIP] = pc.0;
    let flags = &mut context.gregs[greg::FLAGS];
    *flags = thread.signals.trap_flag.shown(*flags);
    context.sigmask = thread.signals.mask;
    context.stack = thread.signals.alt.as_set();
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
