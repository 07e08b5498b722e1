//! The end of a thread, and of the process.

use crate::life::end;
use crate::life::leave::gather;
use crate::syscall::outcome::Outcome;
use ppin_api::ThreadId;
use ppin_hosting::buffers;
use ppin_os::{Kernel, Permit, c, proc, signals};
use ppin_process::gate::table;
use ppin_process::signal::{HOLD_ALL, HOLD_FAULTS_TOO, kernel_mask};
use ppin_process::thread::Thread;
use ppin_process::vm;

/// `exit`: ends this thread; the process, too, if it is the last thread.
pub(crate) fn thread(thread: &mut Thread, status: i32) -> Outcome {
    if thread.borrowed_memory {
        leave(status);
    }
    let (last, tool) = {
        let vm = vm::lock();
        (vm.threads().len() == 1, vm.tool())
    };
    buffers::of_thread(thread);
    tool.thread_fini(&ppin_hosting::host::EngineHost, ThreadId(thread.index));
    if last {
        end::of_process(&mut vm::lock());
        leave(status);
    }
    signals::set_mask(HOLD_ALL);
    let (rests, (base, len)) = {
        let mut vm = vm::lock();
        // (The thread's filters stay in force: it has system calls to make yet.)
        let rests = vm.remove_thread(thread);
        ppin_process::counters::retire(&mut vm, thread);
        vm.log(format_args!("thread {} ends", thread.index));
        (rests, thread.map)
    };
    if rests {
        // The signal stack will be another thread's.
        signals::set_mask(HOLD_FAULTS_TOO);
        // SAFETY: nothing refers to the structure any more; the routine needs no stack.
        unsafe { ppin_process::gate::rest_and_exit(&raw const thread.gone, status) }
    }
    if !Kernel::of_this_thread().allows(c::__NR_munmap) {
        leave(status);
    }
    // The signal stack is unmapped, too.
    signals::set_mask(HOLD_FAULTS_TOO);
    // SAFETY: nothing refers to the structure any more; the routine needs no stack.
    unsafe { ppin_process::gate::unmap_and_exit(base, len, status) }
}

/// `exit` without freeing memory: the memory is the parent's, or ends with the process.
fn leave(status: i32) -> ! {
    let args = [status as usize, 0, 0, 0, 0, 0];
    loop {
        // SAFETY: does not return.
        unsafe { Permit::for_the_app(c::__NR_exit, args).execute() };
    }
}

/// `exit_group`: ends the process. The first thread to get here takes the VM lock and keeps it:
/// saving takes longer than the native end would, and meanwhile no other thread may write output,
/// end the process in another way, or die of a signal.
pub(crate) fn process(thread: &mut Thread, status: i32) -> Outcome {
    if thread.borrowed_memory {
        proc::exit_group(status)
    }
    signals::set_mask(HOLD_ALL);
    let mut vm = vm::lock();
    if gather::is_led_by_another(thread) {
        // Another thread is about to have the process die of a signal, or go on natively.
        drop(vm);
        signals::set_mask(kernel_mask(thread.signals.mask));
        return Outcome::Again;
    }
    if vm.threads().len() > 1 {
        // (All system calls of the other threads wait for the lock from here on.)
        table::watch_all();
    }
    end::of_process(&mut vm);
    proc::exit_group(status)
}
