//! Outcomes of calls that the VM handles, and the ways to make a call.

use crate::life::leave;
use crate::thread::waiting::asleep;
use ppin_abi::addr::CachePc;
use ppin_os::{Errno, mem};
use ppin_process::gate::vmcall;
use ppin_process::thread::Thread;
use ppin_process::vm;

const INTERRUPTED: isize = Errno::EINTR.raw();

/// How a call handled by the VM ended.
pub(crate) enum Outcome {
    /// Result for rax.
    Done(isize),
    /// Not made: a signal is delivered first, then the app makes the call again.
    Again,
    /// The thread goes on at this cache address.
    Elsewhere(CachePc),
    /// The process is left to itself, and makes the call natively. The text is the reason for the
    /// statistics ("from the moment ...").
    Natively(&'static str),
}

/// Whether the cache address `code` lies in code that is in use.
pub(crate) fn in_use(vm: &vm::Vm, code: u64) -> bool {
    vm.code().fresh_at(code).is_some() || vm.code().in_units(code)
}

/// Sends a call that does not concern the VM through the gate, if the code it returns to is still
/// in use; otherwise makes it here.
pub(crate) fn through_gate(
    thread: &mut Thread,
    resume: u64,
    nr: u32,
    args: &[usize; 6],
) -> Outcome {
    if !in_use(&vm::lock(), resume) {
        return pass_interruptible(thread, nr, args);
    }
    Outcome::Elsewhere(CachePc(ppin_process::gate::cross(
        ppin_process::gate::syscall::gate_syscall,
    )))
}

/// Makes the call as the app asked for it.
pub(crate) fn pass(nr: u32, args: &[usize; 6]) -> isize {
    // SAFETY: the app's own call.
    unsafe { vmcall::plain(nr, args) }
}

/// Makes the call as the app asked for it, when it may sleep. One that only a request to leave the process has
/// interrupted is made again.
pub(crate) fn pass_interruptible(thread: &Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    // SAFETY: the app's own call; no lock is held.
    match asleep(thread, || unsafe {
        vmcall::interruptible(thread, nr, args)
    }) {
        vmcall::ABORTED => Outcome::Again,
        INTERRUPTED if leave::is_all_that_waits(thread) => Outcome::Again,
        result => Outcome::Done(result),
    }
}

/// Notes that the program has got a userfaultfd, or may get one. (Under a filter this is not noted,
/// because the calls it would take could end the program.)
pub(crate) fn userfault_begins() {
    if !vm::lock().is_filtered() {
        ppin_os::userfault::begin();
    }
}

/// Whether `result` is an address: not an error, nor another value that a filter returns.
pub(crate) fn ok(result: isize) -> bool {
    !(-4095..0).contains(&result) && aligned(result as usize)
}

/// Whether `addr` is the address of a page.
pub(crate) fn aligned(addr: usize) -> bool {
    (addr as u64).is_multiple_of(mem::PAGE)
}
