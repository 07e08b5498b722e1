//! Faults that the VM raises for the instruction about to run: it cannot be read,
//! or it is none.

use super::frame::SigInfo;
use crate::sys::c;
use crate::thread::Thread;

const SEGV_MAPERR: i32 = 1;
const ILL_ILLOPN: i32 = 2;

/// Lets `signal` be delivered as a fault when the cache is entered. If another
/// signal waits, that one goes first, and the instruction will fault again.
pub fn fault(thread: &mut Thread, signal: u32, addr: u64) {
    if thread.pending != 0 {
        return;
    }
    let code = if signal == c::SIGSEGV { SEGV_MAPERR } else { ILL_ILLOPN };
    thread.signals.waiting = SigInfo::fault(signal, code, addr);
    thread.signals.waiting_fault = true;
    thread.pending = 1;
}

/// `trapno` of the CPU exception behind a raised signal.
#[must_use]
pub fn trap_number(signal: u32) -> u64 {
    if signal == c::SIGSEGV { 14 } else { 6 }
}

/// Its error code: an instruction fetch from user mode.
#[must_use]
pub fn error_code(signal: u32) -> u64 {
    if signal == c::SIGSEGV { 0x14 } else { 0 }
}
