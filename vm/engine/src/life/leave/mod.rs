//! Leaving a process to itself: from then on it runs natively.
//!
//! A tracer (ptrace(2)) reads and writes the registers and the code of its tracee, steps it and
//! stops it at its system calls. It must see the program's own registers and code, and none of the
//! faults that the cache handles. So a process that has its parent trace it is left just before
//! that call ([`before_call`]). A program under ppin that attaches to another process asks first
//! that this process be left ([`mod@ask`]), and so does `ppin detach`. A process that is about to map something else where the
//! runtime lies is left, too. New fragments are saved; the statistics record the event. Where the
//! runtime's memory cannot be unmapped, it stays, unused.
//!
//! All threads leave together ([`gather`]), and go on as [`natively`] says. A process is left only
//! if its memory is its own and it has no filter of system calls; otherwise its threads stay in the
//! cache. A process that dies with a core file is also left, just before ([`crate::signal::dump`]).

mod ask;
pub(crate) mod gather;
pub(crate) mod last_steps;
pub(crate) mod natively;

pub(crate) use ask::{TRACED, ask, is_all_that_waits, is_request};

use crate::life::end;
use crate::signal::{deliver, native};
use crate::syscall::locked;
use gather::Verdict;
use natively::{give_back_actions, go, go_last, keep};
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::boot::flag;
use ppin_os::frame::{SigInfo, UContext, greg};
use ppin_os::{filter, signals};
use ppin_process::signal::HOLD_FAULTS_TOO;
use ppin_process::signal::in_call::InCall;
use ppin_process::thread::Thread;
use ppin_process::translate::Spot;
use ppin_process::vm::{self, Locked, Vm};
use ppin_process::x87;
use ppin_translate::changes;

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
    let spot = at_rest(thread, context, info, spot);
    deliver::put_right(thread, context, &spot);
    depart(&mut vm::lock(), ask::purpose(info));
    signals::set_mask(HOLD_FAULTS_TOO);
    give_back_actions(thread);
    let alone = gather::leave(thread, Verdict::Leave);
    keep(thread, info);
    ask::mark();
    go_last(thread, context, spot.pc, alone)
}

/// Called when a signal is about to be delivered to a thread that was asked to leave, and that has waited for it under
/// another mask (sigsuspend(2)): only the VM knows the mask to return to, so the thread leaves behind the delivery.
pub(crate) fn put_off(thread: &mut Thread) {
    thread.signals.leave_requested = false;
    signals::queue_to_thread(thread.tid, &ask::request());
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

/// Where the thread goes on that `info` finds at `spot`: at the beginning of its system call, if only the request has
/// interrupted that. A signal of the program is told of by the call.
pub(crate) fn at_rest(
    thread: &mut Thread,
    context: &mut UContext,
    info: &SigInfo,
    spot: &Spot,
) -> Spot {
    let undone = is_request(info).then(|| deliver::undo_interruption(thread, context));
    let undone = undone.flatten();
    thread.signals.makes_call_anew = undone.is_some();
    let Some(before) = undone else {
        return spot.clone();
    };
    thread.signals.in_call = InCall::interrupted(before.pc, context.gregs[greg::RAX]);
    before
}

/// Halts the thread at `spot`; it goes on as the leader decides.
fn with_others(thread: &mut Thread, context: &mut UContext, info: &SigInfo, spot: &Spot) {
    let spot = at_rest(thread, context, info, spot);
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

/// Saves and reports for the process, and lifts all guards.
fn depart(vm: &mut Locked, since: &str) {
    let program = ppin_process::report::program::program();
    let note = alloc::format!("{program}: natively from the moment {since}");
    vm.stats_mut().ran_natively(note);
    end::of_process(vm);
    changes::release_all(vm);
    locked::hand_over();
}
