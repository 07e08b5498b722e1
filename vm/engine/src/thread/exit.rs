//! The end of a thread and of the process.

use crate::life::end;
use crate::life::leave::gather;
use crate::syscall::outcome::Outcome;
use ppin_api::ThreadId;
use ppin_os::{app_call, c, filter, proc, signals};
use ppin_process::gate::table;
use ppin_process::signal::{HOLD_ALL, HOLD_FAULTS_TOO, kernel_mask};
use ppin_process::thread::Thread;
use ppin_process::vm;

/// `exit`: this thread only, unless it is the last.
pub(crate) fn thread(thread: &mut Thread, status: i32) -> Outcome {
    if thread.borrowed_memory {
        leave(status);
    }
    let (last, tool) = {
        let vm = vm::lock();
        (vm.threads.len() == 1, vm.tool_ref())
    };
    tool.thread_fini(&crate::tools::host::EngineHost, ThreadId(thread.index));
    if last {
        end::of_process(&mut vm::lock());
        leave(status);
    }
    signals::set_mask(HOLD_ALL);
    let (base, len) = {
        let mut vm = vm::lock();
        let me: *mut Thread = thread;
        // What confines it is not forgotten: it has calls to make yet.
        vm.threads.remove(me);
        ppin_process::counters::retire(&mut vm, thread);
        vm.log(format_args!("thread {} ends", thread.index));
        thread.map
    };
    if !filter::allows(c::__NR_munmap) {
        leave(status);
    }
    // The signal stack goes, too.
    signals::set_mask(HOLD_FAULTS_TOO);
    // SAFETY: nothing refers to the structure any more; the routine needs no stack.
    unsafe { ppin_process::gate::unmap_and_exit(base, len, status) }
}

/// `exit` without taking anything down: the memory is the parent's, or ends too.
fn leave(status: i32) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { app_call(c::__NR_exit, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// `exit_group`: the process. Who is first has the lock, and keeps it: saving takes longer
/// than natively the end does, and no other thread may write, end the process otherwise or
/// die of a signal meanwhile.
pub(crate) fn process(thread: &mut Thread, status: i32) -> Outcome {
    if thread.borrowed_memory {
        proc::exit_group(status)
    }
    signals::set_mask(HOLD_ALL);
    let mut vm = vm::lock();
    if gather::is_led_by_another(thread) {
        // The process is about to die of a signal, or goes on natively.
        drop(vm);
        signals::set_mask(kernel_mask(thread.signals.mask));
        return Outcome::Again;
    }
    if vm.threads.len() > 1 {
        // All calls of the others come by the lock from here on.
        table::watch_all();
    }
    end::of_process(&mut vm);
    proc::exit_group(status)
}
