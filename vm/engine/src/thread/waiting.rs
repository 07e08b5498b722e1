//! Threads that wait in the kernel while code is flushed.
//!
//! Flushed code is kept until each thread has entered the VM since ([`ppin_codecache::fresh`]). A
//! thread that waits in a system call may not do so for hours, and a program that generates code,
//! or has a small cache, flushes again and again. So the thread is sent to the VM when its call is
//! over: the address that the gate then jumps to is replaced. If the thread is seen to wait after
//! that, it cannot have read the old address, and does not need the flushed code any more. It goes
//! on to read the record of its call.
//!
//! A thread for which the VM makes a call that may sleep ([`asleep`]) is in the VM already, and says so itself. When it
//! is back, it counts as having entered the VM then: what it goes on at is sought from there on, and
//! what its tables know of flushed code is forgotten.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_os::proc;
use ppin_process::gate::disp::scratch;
use ppin_process::gate::syscall::gate_done;
use ppin_process::gate::{self, cross};
use ppin_process::thread::Thread;
use ppin_process::vm::{self, Vm};

/// Gives back flushed code that no thread can be in.
pub(crate) fn reclaim(vm: &mut Vm) {
    if vm.code().keeps_flushed_code() && !vm.is_filtered() {
        let epoch = vm.code().epoch();
        vm.threads().addresses().iter().for_each(|thread| {
            // SAFETY: the list holds valid structures, and the VM lock is held.
            unsafe { send_to_vm(*thread, epoch) }
        });
    }
    let (waiting, others): (Vec<&Thread>, Vec<_>) = vm.threads().all().partition(|it| waits(it));
    let oldest = others.iter().map(|it| it.epoch).min().unwrap_or(0);
    let records: Vec<u64> = waiting.iter().map(|it| record(it)).collect();
    vm.code_mut().reclaim(oldest, &records);
}

/// Makes `call`, which may sleep, for the running thread.
pub(crate) fn asleep<T>(thread: &Thread, call: impl FnOnce() -> T) -> T {
    if thread.borrowed_memory {
        return call();
    }
    thread.waits.store(1, Ordering::SeqCst);
    let result = call();
    let vm = vm::lock();
    thread.waits.store(0, Ordering::Relaxed);
    let since = vm.code().epoch() + 1;
    thread.awake_since.store(since, Ordering::Relaxed);
    result
}

/// The epoch at which the thread, which is about to leave the VM, was last awake: it entered the VM at `epoch`.
pub(crate) fn awake_since(thread: &Thread, epoch: u64) -> u64 {
    let since = thread.awake_since.load(Ordering::Relaxed);
    if since == 0 {
        return epoch;
    }
    thread.awake_since.store(0, Ordering::Relaxed);
    since - 1
}

/// The running thread has entered the VM.
pub(crate) fn arrived(_: &Vm, thread: &Thread) {
    thread.waits.store(0, Ordering::Relaxed);
}

fn waits(thread: &Thread) -> bool {
    thread.waits.load(Ordering::Relaxed) != 0
}

/// The record of the system call in which the thread waits.
fn record(thread: &Thread) -> u64 {
    thread.area.scratch[scratch::SYS_REC]
}

/// Has the thread come to the VM after its system call, if it waits in one that was made before
/// `epoch`.
///
/// # Safety
/// The structure of a live thread.
unsafe fn send_to_vm(thread: *mut Thread, epoch: u64) {
    // SAFETY: the caller's promise. The thread itself writes to this word, too.
    let resume =
        unsafe { AtomicU64::from_ptr(&raw mut (*thread).area.scratch[scratch::SYS_RESUME]) };
    // SAFETY: the caller's promise; the other fields do not change while the VM lock is held.
    let thread = unsafe { &*thread };
    if thread.epoch == epoch || waits(thread) || thread.borrowed_memory {
        return;
    }
    let to_vm = cross(gate::leave_after_call);
    resume.store(to_vm, Ordering::SeqCst);
    // (A thread that is about to make a call writes its own address over ours.)
    let behind_call = proc::waits_before(thread.tid) == Some(cross(gate_done));
    if behind_call && resume.load(Ordering::SeqCst) == to_vm {
        thread.waits.store(1, Ordering::Relaxed);
    }
}
