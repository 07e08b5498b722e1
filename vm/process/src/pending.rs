//! Keeping, taking and releasing held signals: see [`crate::signal::held`].

use crate::signal::sets::{FAULTS, MAX_SIGNAL, bit};
use crate::thread::{Process, Thread};
use crate::vm::{self, Vm};
use ppin_os::frame::SigInfo;
use ppin_os::signals::{self, SigSet};
use ppin_os::{c, proc};

/// Holds the signal of `info`, which has reached `thread` but which the app blocks.
pub fn keep(thread: &mut Thread, info: &SigInfo) {
    if info.code != c::SI_TKILL {
        let vm = vm::lock();
        thread.process().held.put(info);
        if let Some(tid) = receiver(&vm, thread, bit(info.signo as u32)) {
            signals::raise_in(tid, info.signo as u32);
        }
    } else if !is_notification(thread, info) {
        thread.signals.held.put(info);
    }
}

/// Whether `info` only notifies `thread` that the process holds a signal for it. The signal itself
/// cannot be passed on: the kernel lets no thread send another one a signal with the kernel's
/// `si_code`.
fn is_notification(thread: &Thread, info: &SigInfo) -> bool {
    let sender = info.rest[0] as u32;
    let held = thread.process().held.set() & FAULTS & bit(info.signo as u32);
    held != 0 && info.code == c::SI_TKILL && sender == proc::pid() as u32
}

/// The signal to deliver to `thread` for `info`: the one that the process holds, if `info` is only
/// a notification of it; otherwise `info` itself.
#[must_use]
pub fn resolve_notification(thread: &mut Thread, info: &SigInfo) -> SigInfo {
    let process = thread.process();
    let held = is_notification(thread, info)
        .then(vm::lock)
        .and_then(|_vm| process.held.take(bit(info.signo as u32)));
    held.unwrap_or(*info)
}

/// A thread of the same process that does not block, or waits for, a signal that `thread` blocks.
fn receiver(vm: &Vm, thread: &Thread, bit: SigSet) -> Option<i32> {
    let mut all = vm.threads().all();
    let takes = |t: &Thread| t.signals.mask & bit == 0 || t.signals.awaited & bit != 0;
    all.find(|t| t.tid != thread.tid && t.shares_process(thread) && takes(t))
        .map(|t| t.tid)
}

/// Signals held for `thread`, by itself or by its process.
#[must_use]
pub fn pending(thread: &Thread) -> SigSet {
    thread.signals.held.set() | thread.process().held.set()
}

/// Removes and returns one held signal of `wanted`, the thread's own first.
pub fn take(thread: &mut Thread, wanted: SigSet) -> Option<SigInfo> {
    if pending(thread) & wanted == 0 {
        return None;
    }
    let _vm = vm::lock();
    let own = thread.signals.held.take(wanted);
    own.or_else(|| thread.process().held.take(wanted))
}

/// Sends held signals again that `thread` no longer blocks: the app has changed its mask, or a
/// signal that came first has been delivered.
pub fn release(thread: &mut Thread) {
    while thread.pending == 0
        && let Some(info) = take(thread, !thread.signals.mask)
    {
        signals::queue_to_thread(thread.tid, &info);
    }
}

/// Gives all held signals to the kernel, in which they are blocked: the app executes another
/// program, or goes on natively.
pub fn hand_over(thread: &mut Thread) {
    while let Some(info) = thread.signals.held.take(FAULTS) {
        signals::queue_to_thread(thread.tid, &info);
    }
    while let Some(info) = take(thread, FAULTS) {
        signals::queue_to_process(&info);
    }
}

/// Drops held instances of `signal`, which the app ignores from now on.
pub fn drop_ignored(vm: &Vm, process: &mut Process, signal: u32) {
    debug_assert!(signal <= MAX_SIGNAL, "the caller has looked");
    process.held.forget(bit(signal));
    for thread in vm.threads().addresses() {
        // SAFETY: the list holds live threads, and the VM lock is held.
        let thread = unsafe { &mut **thread };
        if core::ptr::eq(thread.process(), process) {
            thread.signals.held.forget(bit(signal));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn info(signo: u32, code: i32, sender: u32) -> SigInfo {
        let mut info = SigInfo::NONE;
        (info.signo, info.code) = (signo as i32, code);
        info.rest[0] = u64::from(sender) as _;
        info
    }

    #[test]
    fn a_signal_sent_to_a_thread_is_held_by_it() {
        let thread = testing::thread(0);
        keep(thread, &info(c::SIGSEGV, c::SI_TKILL, 1));
        assert_eq!(thread.signals.held.set(), bit(c::SIGSEGV));
        assert_eq!(thread.process().held.set(), 0);
    }

    #[test]
    fn a_notification_stands_for_the_signal_of_the_process() {
        let thread = testing::thread(0);
        let own = proc::pid() as u32;
        let told = info(c::SIGBUS, c::SI_TKILL, own);
        assert!(!is_notification(thread, &told), "nothing is held");
        thread.process().held.put(&info(c::SIGBUS, 0, 7));
        assert!(is_notification(thread, &told));
        assert!(!is_notification(
            thread,
            &info(c::SIGBUS, c::SI_TKILL, own + 1)
        ));
        assert!(!is_notification(
            thread,
            &info(c::SIGSEGV, c::SI_TKILL, own)
        ));
        keep(thread, &told);
        assert_eq!(thread.signals.held.set(), 0, "it is no signal of its own");
        assert_eq!(pending(thread), bit(c::SIGBUS));
    }

    #[test]
    fn a_process_wide_signal_goes_to_a_thread_that_takes_it() {
        let [first, second, stranger] = [0, 1, 2].map(testing::thread);
        let mut vm = testing::vm_of(testing::config(), first);
        let signal = bit(c::SIGFPE);
        second.drop_process();
        second.set_process(first, true);
        vm.add_thread(second);
        vm.add_thread(stranger);
        second.signals.mask = signal;
        assert_eq!(receiver(&vm, first, signal), None, "another process's");
        second.signals.awaited = signal;
        assert_eq!(receiver(&vm, first, signal), Some(second.tid));
        (second.signals.mask, second.signals.awaited) = (0, 0);
        assert_eq!(receiver(&vm, first, signal), Some(second.tid));
    }

    #[test]
    fn what_the_app_ignores_is_dropped_from_all_threads_of_the_process() {
        let [mine, beside, other] = [0, 1, 2].map(testing::thread);
        let mut vm = testing::vm_of(testing::config(), mine);
        beside.drop_process();
        beside.set_process(mine, true);
        vm.add_thread(beside);
        vm.add_thread(other);
        for thread in [&mut *mine, beside, other] {
            thread.signals.held.put(&info(c::SIGILL, 0, 1));
        }
        mine.process().held.put(&info(c::SIGILL, 0, 1));
        drop_ignored(&vm, mine.process(), c::SIGILL);
        let left = [mine, beside, other].map(|thread| pending(thread));
        assert_eq!(left, [0, 0, bit(c::SIGILL)]);
    }
}
