//! Leaving a process to itself: from here on it runs natively.
//!
//! A tracer (ptrace(2)) reads and writes the registers and the code of its tracee, steps
//! it and stops it at its system calls. It must meet the program's own, and none of the
//! faults by which the cache works. So a process that has its parent trace it is left
//! just before that call ([`before_call`]), and a program of ours that attaches to another
//! one asks that to be left first ([`ask`]). The same goes for a process that is about to
//! map something else where the runtime lies. What was learned is saved; the statistics say
//! what happened. The runtime's memory stays, unused.
//!
//! Threads leave together ([`gather`]). Only a process with memory of its own and no filter
//! of system calls is left: the others keep running in the cache. A process that dies with a
//! core file is left, too, just before ([`crate::signal::dump`]).

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
use ppin_process::signal::{HOLD_FAULTS_TOO, MAX_SIGNAL};
use ppin_process::thread::Thread;
use ppin_process::translate::Spot;
use ppin_process::vm::{self, Locked, Vm};
use ppin_process::{gate, pending, x87};
use ppin_translate::changes;

/// Why a process was left, for the statistics: a tracer.
pub(crate) const TRACED: &str = "it was traced";

/// Whether the process of `thread` can be left, which has no other threads.
#[must_use]
pub(crate) fn is_possible(thread: &Thread) -> bool {
    let vm = vm::lock();
    vm.threads.len() == 1 && !thread.borrowed_memory && are_free(&vm)
}

/// Whether nothing binds the threads to the cache.
fn are_free(vm: &Vm) -> bool {
    let mut all = vm.threads.all();
    let free = |it: &Thread| !it.user_dispatch.is_on() && filter::of(&it.area).is_none();
    vm.config.flags & flag::LOCKSTEP == 0 && all.all(free)
}

/// Whether all threads can leave together.
fn is_possible_for_all(vm: &Vm) -> bool {
    let mut all = vm.threads.all();
    all.all(|it| !it.borrowed_memory) && are_free(vm)
}

/// Leaves the process at the app's system call at `pc`, which is yet to be made: natively.
/// The cache address to go on at.
pub(crate) fn before_call(thread: &mut Thread, pc: AppPc, since: &str) -> CachePc {
    depart(&mut vm::lock(), since);
    thread.signals.leave_at_native = true;
    native::begin(thread, pc, CachePc(0))
}

/// A signal is about to be delivered to a thread that has been asked to leave, and
/// stands at `spot`. `false`: it cannot; the request is void.
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
    last_goes(thread, context, spot.pc, alone)
}

/// Whether `thread` leads, and all others have halted.
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

/// The thread halts at `spot`, and goes on as the leader decides.
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

/// The thread, at `pc` in the program's state, is about to die of `info`, but another thread
/// leads. If that one has all leave, the signal is delivered natively; if it dies, this one
/// dies with it. `false`: it is this thread's turn, in memory that others need.
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

/// What was about to be delivered waits, unless it was the request.
fn keep(thread: &mut Thread, info: &SigInfo) {
    if !is_request(info) {
        thread.signals.waiting = *info;
        thread.pending = 1;
    }
}

/// All that is to be saved or said of the process.
fn depart(vm: &mut Locked, since: &str) {
    let program = ppin_process::report::program::program();
    let note = alloc::format!("{program}: natively from the moment {since}");
    vm.stats.native.push(note);
    end::of_process(vm);
    changes::release_all(vm);
    locked::hand_over();
}

/// In a handler of ours, all app registers in `context`: the app goes on at `pc` by
/// itself.
pub(crate) fn hand_over(thread: &mut Thread, context: &mut UContext, pc: AppPc) -> ! {
    signals::set_mask(HOLD_FAULTS_TOO);
    // Whoever has asked for it waits for the mark, and then for the program's own mask.
    ask::mark();
    give_back_actions(thread);
    last_goes(thread, context, pc, true)
}

/// The last thread of ours goes, and with it our memory if it is `alone`.
fn last_goes(thread: &mut Thread, context: &mut UContext, pc: AppPc, alone: bool) -> ! {
    make_native(thread, context, pc);
    let ours: Vec<Range> = ours::all(&vm::lock()).collect();
    if alone && let Some(steps) = LastSteps::new(context, &ours, &gather::frames(thread)) {
        thread.load_app_gs();
        // SAFETY: all signals are blocked, and nobody else runs our code.
        unsafe { steps.take() }
    }
    restore(thread, context)
}

/// The same for one of several threads.
fn go(thread: &mut Thread, context: &mut UContext, pc: AppPc) -> ! {
    make_native(thread, context, pc);
    restore(thread, context)
}

/// Returns from the VM's stack, which is empty outside the VM: on a signal stack no other can
/// be set, and newer kernels set it before they leave ours.
fn restore(thread: &Thread, context: &UContext) -> ! {
    let frame = ((thread.vm_sp - size_of::<UContext>() as u64) & !15) as *mut UContext;
    // SAFETY: nothing lives on that stack while the thread is not in the VM.
    unsafe { frame.write(*context) };
    thread.load_app_gs();
    // SAFETY: the kernel's own frame, edited.
    unsafe { gate::sigreturn(frame) }
}

/// Makes `context` the program's at `pc`; signals that we hold become the kernel's.
pub(crate) fn make_native(thread: &mut Thread, context: &mut UContext, pc: AppPc) {
    queue_anew(thread);
    context.gregs[greg::RIP] = pc.0;
    let flags = &mut context.gregs[greg::FLAGS];
    *flags = thread.signals.trap_flag.shown(*flags);
    context.sigmask = thread.signals.mask;
    context.stack = thread.signals.alt.as_set();
}

/// The kernel gets the dispositions of the program.
pub(crate) fn give_back_actions(thread: &Thread) {
    let actions = &thread.process().actions;
    for signal in 1..=MAX_SIGNAL {
        // SAFETY: what the app itself has asked for.
        let _ = unsafe { signals::sigaction(signal, Some(&actions.0[signal as usize])) };
    }
}

/// Signals that we hold are the kernel's to deliver; all are blocked now.
fn queue_anew(thread: &mut Thread) {
    if core::mem::take(&mut thread.pending) != 0 {
        signals::queue_to_self(&thread.signals.waiting);
    }
    pending::hand_over(thread);
}
