//! A program that runs already comes under ppin (`ppin attach`).
//!
//! Its threads are stopped meanwhile, and block all signals; `ppin_abi::attach` says what passes. The thread that
//! enters the runtime makes the structures of all others, as for children of `clone`; each of them then begins in
//! [`begin`], on its VM stack.

use alloc::vec::Vec;
use ppin_abi::addr::AppPc;
use ppin_abi::attach::{GO, READY, Start, Task};
use ppin_api::ThreadId;
use ppin_hosting::host::EngineHost;
use ppin_os::{Result, descriptor, dir, lock, mem, proc, report, signals, userfault};
use ppin_process::gate::{self, table};
use ppin_process::signal::alt::AltStack;
use ppin_process::signal::in_call::InCall;
use ppin_process::signal::{Actions, HOLD_ALL, kernel_mask};
use ppin_process::thread::Thread;
use ppin_process::vm;
use ppin_translate::sequence;

/// Notes that what this thread maps readable is executable, too, if that is so: the runtime's memory must not be.
/// (Only a program that runs already may have asked for it: 64-bit programs begin without.)
pub(super) fn note_implied(persona: Option<u32>) {
    if persona.is_some_and(|bits| bits & proc::READ_IMPLIES_EXEC != 0) {
        mem::reading_implies_executing();
    }
}

/// Has `thread`, which is the running one, go on with what `task` was doing.
pub(super) fn resume(thread: &mut Thread, task: &Task) {
    set_state(thread, task);
    thread.signals.alt = AltStack::of_running(proc::tid() == proc::pid());
}

/// Gives `thread` the state of the program's thread.
fn set_state(thread: &mut Thread, task: &Task) {
    thread.tid = task.tid as i32;
    thread.regs.gpr = task.gpr;
    thread.regs.flags = task.flags;
    thread.regs.mxcsr = task.mxcsr;
    thread.xmm = task.xmm;
    thread.area.app_gs_base = task.gs[0];
    thread.gs_selector = task.gs[1] as u16;
    thread.resume_pc = task.pc;
    thread.signals.mask = task.mask;
    let [number, error] = task.call;
    thread.signals.in_call = InCall {
        pc: AppPc(task.pc),
        number,
        error,
    };
    let [at, len, signature] = task.rseq.map(|word| word as usize);
    thread.rseq_call = [at, len, 0, signature];
}

/// The first of the program's threads takes over the process; all `others` wait to begin, and do so before
/// this returns.
pub(super) fn take_over(thread: &mut Thread, others: &[Task]) {
    thread.process().actions = Actions::of_running();
    table::watch_sent_faults();
    note_sequences(thread);
    if has_userfaultfd() {
        userfault::begin();
    }
    if !others.is_empty() {
        lock::begin_company();
    }
    let starts: Result<Vec<Start>> = others.iter().map(|task| prepare(thread, task)).collect();
    let ready = starts.map(|starts| say_ready(&starts));
    ready.unwrap_or_else(|e| {
        report::give_up(format_args!("the program cannot be taken over ({e})"))
    });
}

/// Makes the structure of another thread and adds it to the list.
fn prepare(first: &Thread, task: &Task) -> Result<Start> {
    let mut vm = vm::lock();
    let thread = vm.make_thread(first.area.entry)?;
    set_state(thread, task);
    thread.area.calls.routines = first.area.calls.routines;
    thread.area.calls.code = first.area.calls.code;
    thread.epoch = vm.code().epoch();
    thread.set_process(first, true);
    vm.log(format_args!("thread {} is taken over", thread.index));
    vm.add_thread(thread);
    Ok(Start {
        thread: core::ptr::from_mut(thread) as u64,
        stack: thread.vm_sp,
    })
}

/// Tells who attaches how the other threads begin; returns when they may.
fn say_ready(starts: &[Start]) {
    // (The trap must not be blocked.)
    signals::set_mask(HOLD_ALL);
    let begin = begin as *const () as u64;
    // SAFETY: who attaches sees the trap, or the process dies of it.
    if unsafe { trap(READY, starts.as_ptr(), begin) } != GO {
        report::give_up(format_args!("who attached ppin has not answered"));
    }
}

/// Stops for who traces this thread, and gives what that has put into rax.
#[unsafe(naked)]
unsafe extern "C" fn trap(ready: u64, starts: *const Start, begin: u64) -> u64 {
    core::arch::naked_asm!("int3", "ret")
}

/// First routine of a thread that ran natively, on its VM stack.
///
/// # Safety
/// `thread` is the structure made for this thread.
unsafe extern "C" fn begin(thread: *mut Thread) -> ! {
    // SAFETY: the caller's promise.
    let thread = unsafe { &mut *thread };
    note_implied(proc::persona());
    thread.signals.alt = AltStack::of_running(proc::tid() == proc::pid());
    thread.make_current();
    note_sequences(thread);
    signals::set_mask(HOLD_ALL);
    let tool = vm::lock().tool();
    tool.thread_start(&EngineHost, ThreadId(thread.index));
    signals::set_mask(kernel_mask(thread.signals.mask));
    // SAFETY: registers, pc and mask are set.
    unsafe { gate::enter_first() }
}

/// Whether the program has a userfaultfd.
fn has_userfaultfd() -> bool {
    let all = dir::list_dir("/proc/self/fd").unwrap_or_default();
    let mut numbers = all.iter().filter_map(|name| name.parse().ok());
    numbers.any(|fd| descriptor::path_of(fd).contains("[userfaultfd]"))
}

/// Notes the registration for restartable sequences that the running thread has.
fn note_sequences(thread: &mut Thread) {
    let [at, len, _, signature] = core::mem::take(&mut thread.rseq_call);
    if at != 0 {
        sequence::registered(thread, [at, len, signature]);
    }
}
