//! What is done with signals that are held: see [`crate::signal::held`].

use crate::signal::sets::{FAULTS, MAX_SIGNAL, bit};
use crate::thread::{Process, Thread};
use crate::vm::{self, Vm};
use ppin_os::frame::SigInfo;
use ppin_os::proc;
use ppin_os::signals::{self, SigSet};

/// `tgkill`.
const SI_TKILL: i32 = -6;

/// Keeps `info`, which `thread` has got and blocks.
pub fn keep(thread: &mut Thread, info: &SigInfo) {
    if info.code != SI_TKILL {
        let vm = vm::lock();
        thread.process().held.put(info);
        if let Some(tid) = taker(&vm, thread, bit(info.signo as u32)) {
            signals::raise_in(tid, info.signo as u32);
        }
    } else if !is_a_call(thread, info) {
        thread.signals.held.put(info);
    }
}

/// Whether `info` only says that the process holds one for `thread`. It cannot be passed
/// on as it is: the kernel lets nobody speak in its name to another thread.
fn is_a_call(thread: &Thread, info: &SigInfo) -> bool {
    let sender = info.rest[0] as u32;
    let held = thread.process().held.set() & FAULTS & bit(info.signo as u32);
    held != 0 && info.code == SI_TKILL && sender == proc::pid() as u32
}

/// What `thread` has really got in getting `info`.
#[must_use]
pub fn meant(thread: &mut Thread, info: &SigInfo) -> SigInfo {
    let process = thread.process();
    let meant = is_a_call(thread, info)
        .then(vm::lock)
        .and_then(|_vm| process.held.take(bit(info.signo as u32)));
    meant.unwrap_or(*info)
}

/// A thread of the same process that would take a signal which `thread` blocks.
fn taker(vm: &Vm, thread: &Thread, bit: SigSet) -> Option<i32> {
    let mut all = vm.threads.all();
    let takes = |t: &Thread| t.signals.mask & bit == 0 || t.signals.awaited & bit != 0;
    all.find(|t| t.tid != thread.tid && t.shares_process(thread) && takes(t))
        .map(|t| t.tid)
}

/// What is pending as far as `thread` is concerned.
#[must_use]
pub fn pending(thread: &Thread) -> SigSet {
    thread.signals.held.set() | thread.process().held.set()
}

/// Takes one of `wanted` out, the thread's own first.
pub fn take(thread: &mut Thread, wanted: SigSet) -> Option<SigInfo> {
    if pending(thread) & wanted == 0 {
        return None;
    }
    let _vm = vm::lock();
    let own = thread.signals.held.take(wanted);
    own.or_else(|| thread.process().held.take(wanted))
}

/// The app has opened its mask, or a signal that was in the way is delivered: what is
/// held comes up again.
pub fn release(thread: &mut Thread) {
    while thread.pending == 0
        && let Some(info) = take(thread, !thread.signals.mask)
    {
        signals::queue_to_thread(thread.tid, &info);
    }
}

/// All that is held is blocked in the kernel, too, which takes it over: the app executes
/// another program, or goes on without us.
pub fn hand_over(thread: &mut Thread) {
    while let Some(info) = thread.signals.held.take(FAULTS) {
        signals::queue_to_thread(thread.tid, &info);
    }
    while let Some(info) = take(thread, FAULTS) {
        signals::queue_to_process(&info);
    }
}

/// The app ignores `signal` from now on, and what is pending of it is dropped.
pub fn drop_ignored(vm: &Vm, process: &mut Process, signal: u32) {
    debug_assert!(signal <= MAX_SIGNAL, "the caller has looked");
    process.held.forget(bit(signal));
    for thread in vm.threads.addresses() {
        // SAFETY: the list holds live threads, and the VM lock is held.
        let thread = unsafe { &mut **thread };
        if core::ptr::eq(thread.process(), process) {
            thread.signals.held.forget(bit(signal));
        }
    }
}
