//! ptrace(2): who is about to be traced is left to itself ([`crate::leave`]).

use super::{Outcome, own_memory, through_gate};
use crate::sys::c;
use crate::thread::Thread;
use crate::{leave, obstacle};

const PTRACE_TRACEME: usize = 0;
const PTRACE_ATTACH: usize = 16;
const PTRACE_SEIZE: usize = 0x4206;

/// Handles the call.
pub fn handle(thread: &mut Thread, resume: u64, args: &[usize; 6]) -> Outcome {
    match args[0] {
        PTRACE_TRACEME if !obstacle::is_traced() && leave::is_possible(thread) => {
            return Outcome::Natively(leave::TRACED);
        }
        // Who uses this memory, too, cannot be left: a leak checker's tracer stops those.
        PTRACE_ATTACH | PTRACE_SEIZE if !own_memory::is_ours(args[1] as i32) => {
            leave::ask(args[1] as i32);
        }
        _ => {}
    }
    through_gate(thread, resume, c::__NR_ptrace, args)
}
