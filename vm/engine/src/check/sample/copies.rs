//! Making the copies, out of everybody's way.

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

/// Seconds that a sample may take.
const PATIENCE: u64 = 10;

/// Makes both copies and waits for the verdict; in a copy, says where that one enters
/// the cache.
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

/// A copy of this process with this thread alone: of its end nobody gets a signal, and
/// no debugger of the program is told.
fn copy() -> isize {
    // SAFETY: the child has its own copy of everything, and goes on right here.
    unsafe { raw(c::__NR_clone, [c::CLONE_UNTRACED as usize, 0, 0, 0, 0, 0]) }
}

fn wait(child: isize) {
    let args = [child as usize, 0, c::__WALL as usize, 0, 0, 0];
    // SAFETY: no status is asked for.
    while unsafe { raw(c::__NR_wait4, args) } == Errno::EINTR.raw() {}
}

/// The native copy: has the other one go first.
fn in_native(thread: &mut Thread, entry: CachePc, pc: AppPc, record: *mut Record) -> CachePc {
    die_with_parent();
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
    // SAFETY: the other copy is gone; the program only waits.
    let found = unsafe { &*record };
    if found.outcome != Outcome::Translated as u32 || found.steps() == 0 {
        proc::exit_group(0);
    }
    steps::begin(Role::Native, record);
    thread.signals.native_pc = pc.0;
    CachePc(gate::cross(gate::native_trap))
}

fn die_with_parent() {
    const PR_SET_PDEATHSIG: usize = 1;
    // SAFETY: PR_SET_PDEATHSIG takes a number.
    unsafe {
        raw(
            c::__NR_prctl,
            [PR_SET_PDEATHSIG, c::SIGKILL as usize, 0, 0, 0, 0],
        )
    };
}

/// However it may get stuck, a copy ends.
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
    // SAFETY: a sigevent and room for an id, both ours.
    if unsafe { raw(c::__NR_timer_create, make) } == 0 {
        let once = [0u64, 0, PATIENCE, 0];
        let set = [timer as usize, 0, once.as_ptr() as usize, 0, 0, 0];
        // SAFETY: an itimerspec is two pairs of 64-bit numbers.
        unsafe { raw(c::__NR_timer_settime, set) };
    }
}

/// What other processes see, a copy must not write to; what they write, both copies
/// would have to see at the same moment. So a stretch of code ends there; and at the vdso,
/// which reads what the kernel changes all the time.
fn hide_shared_memory(vm: &Vm, record: u64) {
    for entry in maps::read().unwrap_or_default() {
        if entry.path == "[vdso]" {
            steps::avoid((entry.start, entry.end));
        } else if entry.shared && entry.start != record && !vm.code.in_cache(entry.start) {
            // SAFETY: this process is a copy that ends soon. Of our own memory only the
            // second view of fresh code is among it, which is not written to here.
            let _ = unsafe { mem::protect(entry.start, entry.end - entry.start, mem::NONE) };
        }
    }
}
