//! Makes the two copies of the process, hidden from the program and other processes.

use super::avoided;
use super::record::{Outcome, Record, Shared};
use super::steps::{self, Role};
use ppin_abi::addr::{AppPc, CachePc};
use ppin_os::{Errno, c, heap, maps, mem, proc, raw, signals};
use ppin_process::gate;
use ppin_process::signal::HOLD_ALL;
use ppin_process::signal::trap_flag::TRAP_FLAG;
use ppin_process::thread::Thread;
use ppin_process::vm::{self, Vm};
use ppin_translate::sequence;

/// Seconds after which a copy is killed.
const TIME_LIMIT_SECONDS: u64 = 10;

/// Makes both copies and waits for the result. In a copy, returns the cache address that the copy
/// enters.
pub(super) fn make(
    thread: &mut Thread,
    entry: CachePc,
    pc: AppPc,
    shared: &Shared,
) -> Option<CachePc> {
    let before = signals::set_mask(HOLD_ALL);
    let guard = vm::lock();
    let child = heap::with_heap_locked(|_| copy());
    if child == 0 {
        core::mem::forget(guard);
        vm::unlock_in_child();
        return Some(in_native(thread, entry, pc, shared.at()));
    }
    drop(guard);
    if child > 0 {
        wait(child);
    }
    signals::set_mask(before);
    None
}

/// Makes a copy of this process with only this thread. Its end sends no signal, and no debugger of
/// the program is told of it.
fn copy() -> isize {
    // SAFETY: the child has its own copy of all memory, and goes on from here.
    unsafe { raw(c::__NR_clone, [c::CLONE_UNTRACED as usize, 0, 0, 0, 0, 0]) }
}

fn wait(child: isize) {
    let args = [child as usize, 0, c::__WALL as usize, 0, 0, 0];
    // SAFETY: no status is asked for.
    while unsafe { raw(c::__NR_wait4, args) } == Errno::EINTR.raw() {}
}

/// In the native copy: makes the translated copy and waits for it, then prepares to run natively.
fn in_native(thread: &mut Thread, entry: CachePc, pc: AppPc, record: *mut Record) -> CachePc {
    die_with_parent();
    ppin_process::buffers::drop_all();
    limit_time();
    if !sequence::forget(thread) {
        proc::exit_group(0);
    }
    hide_shared_memory(&vm::lock(), record as u64);
    steps::begin(Role::Translated, record);
    let child = copy();
    thread.pending = 0;
    if child == 0 {
        die_with_parent();
        thread.regs.flags |= TRAP_FLAG;
        return entry;
    }
    wait(child);
    // SAFETY: the other copy has ended, and the program only waits.
    let found = unsafe { &*record };
    if found.outcome != Outcome::Translated as u32 || found.steps() == 0 {
        proc::exit_group(0);
    }
    steps::begin(Role::Native, record);
    thread.signals.native_pc = pc.0;
    CachePc(gate::cross(gate::native_trap))
}

fn die_with_parent() {
    // SAFETY: PR_SET_PDEATHSIG takes a number.
    unsafe {
        raw(
            c::__NR_prctl,
            [
                c::PR_SET_PDEATHSIG as usize,
                c::SIGKILL as usize,
                0,
                0,
                0,
                0,
            ],
        )
    };
}

/// Arms a timer that kills the copy if it hangs.
fn limit_time() {
    let mut event = [0u64; 8];
    event[1] = u64::from(c::SIGKILL); // SIGEV_SIGNAL is 0
    let mut timer = 0i32;
    let make = [
        c::CLOCK_MONOTONIC as usize,
        event.as_ptr() as usize,
        &raw mut timer as usize,
        0,
        0,
        0,
    ];
    // SAFETY: a sigevent and room for an id, both on this stack.
    if unsafe { raw(c::__NR_timer_create, make) } == 0 {
        let once = [0u64, 0, TIME_LIMIT_SECONDS, 0];
        let set = [timer as usize, 0, once.as_ptr() as usize, 0, 0, 0];
        // SAFETY: an itimerspec is two pairs of 64-bit numbers.
        unsafe { raw(c::__NR_timer_settime, set) };
    }
}

/// Hides memory that is shared with other processes: a copy must not write to it, and both copies
/// would have to read the same values from it. So a sample ends where such memory is accessed, and
/// at the vdso, whose data the kernel changes all the time.
fn hide_shared_memory(vm: &Vm, record: u64) {
    for entry in maps::read().unwrap_or_default() {
        if entry.path == "[vdso]" {
            avoided::avoid((entry.start, entry.end));
        } else if entry.shared && entry.start != record && !vm.code().in_cache(entry.start) {
            // SAFETY: this process is a copy that ends soon. Of the runtime's memory only the
            // second view of fresh code is affected, which is not written to here.
            let _ = unsafe { mem::protect(entry.start, entry.end - entry.start, mem::NONE) };
        }
    }
}
