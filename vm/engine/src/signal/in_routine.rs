//! Signals that arrive while an analysis routine runs.
//!
//! Translated code calls plain routines by itself, on the thread's own stack, which is empty then.
//! So the first word on the stack is the return address, in the cache. When the VM runs on that
//! stack, it is an address of the runtime, or the flags that the gate has pushed.
//!
//! A routine is not stepped through: its return address is changed to a trap, and behind that the
//! thread is stepped to the next boundary.

use ppin_os::frame::{UContext, greg};
use ppin_process::thread::Thread;
use ppin_process::{gate, vm};

/// The flags are a smaller number, and no code lies so low.
const LEAST_ADDRESS: u64 = 1 << 32;

/// Where the return address of a routine lies.
fn return_address(thread: &Thread) -> *mut u64 {
    (thread.area.calls.stack - 8) as *mut u64
}

/// Whether a routine runs that translated code has called.
pub(super) fn is(thread: &Thread, context: &UContext) -> bool {
    let (start, _) = thread.map;
    let used = start..=thread.area.calls.stack - 8;
    if !used.contains(&context.gregs[greg::RSP]) {
        return false;
    }
    // SAFETY: the top of the thread's stack.
    let address = unsafe { return_address(thread).read_volatile() };
    address >= LEAST_ADDRESS && !vm::is_runtime(address)
}

/// Makes the routine return to the trap.
pub(super) fn hold(thread: &mut Thread) {
    let at = return_address(thread);
    // SAFETY: the top of the thread's stack, where the routine's return address lies.
    unsafe {
        thread.signals.routine_return = at.read_volatile();
        at.write_volatile(gate::cross(gate::routine_trap));
    }
}

/// At the trap: goes on where the routine has returned to.
pub(super) fn returned(thread: &Thread, context: &mut UContext) {
    context.gregs[greg::RIP] = thread.signals.routine_return;
}
