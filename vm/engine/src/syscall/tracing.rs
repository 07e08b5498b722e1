//! ptrace(2): a process that is about to be traced is left to itself ([`crate::life::leave`]).

use super::killing;
use super::outcome::{Outcome, through_gate};
use crate::life::{cannot_follow, leave};
use ppin_os::{c, peek};
use ppin_process::thread::Thread;
use ppin_process::vm;

const PTRACE_TRACEME: usize = c::PTRACE_TRACEME as usize;
const PTRACE_ATTACH: usize = c::PTRACE_ATTACH as usize;
const PTRACE_SEIZE: usize = c::PTRACE_SEIZE as usize;
const PTRACE_INTERRUPT: usize = c::PTRACE_INTERRUPT as usize;

/// Handles the call.
pub(super) fn handle(thread: &mut Thread, resume: u64, args: &[usize; 6]) -> Outcome {
    match args[0] {
        PTRACE_TRACEME if !cannot_follow::is_traced() && leave::is_possible(thread) => {
            return Outcome::Natively(leave::TRACED);
        }
        // A process that shares this memory cannot be left: the tracer of a leak checker stops such
        // threads.
        PTRACE_ATTACH | PTRACE_SEIZE | PTRACE_INTERRUPT
            if ppin_process::vm::shares_memory(args[1] as i32) =>
        {
            return Outcome::Done(trace_sharer(args));
        }
        PTRACE_ATTACH | PTRACE_SEIZE => leave::ask(args[1] as i32),
        _ => {}
    }
    through_gate(thread, resume, c::__NR_ptrace, args)
}

/// `ptrace` on a process that shares this memory: it is made while the tracee holds no lock of the
/// VM that the tracer will need. From now on the VM's reads do not fault, since the tracee would
/// stop at each fault.
fn trace_sharer(args: &[usize; 6]) -> isize {
    let vm = vm::lock();
    peek::never_fault();
    let stopped = [args[1] as i32];
    let stopped = match args[0] {
        PTRACE_SEIZE => &[],
        _ => &stopped[..],
    };
    killing::with_locks(&vm, c::__NR_ptrace, args, stopped)
}
