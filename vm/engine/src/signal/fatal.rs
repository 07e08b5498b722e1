//! The process dies of a signal: what was learned is saved first, then the kernel
//! does what it would have done.

use super::frame::{SigInfo, UContext, greg};
use super::{DEFAULT, bit};
use crate::sys::c;
use crate::sys::proc::{self, KernelSigaction};
use crate::thread::Thread;
use crate::{diagnosis, report, vm};

/// Ends the process by `signal` as if by its default action.
pub fn die(thread: &mut Thread, signal: u32, info: &SigInfo) {
    if !thread.borrowed_memory {
        crate::end::of_process(&mut vm::lock());
    }
    die_now(signal, info);
}

/// The same with nothing saved.
fn die_now(signal: u32, info: &SigInfo) -> ! {
    let default = KernelSigaction {
        handler: DEFAULT,
        ..KernelSigaction::default()
    };
    // SAFETY: no handler is installed.
    let _ = unsafe { proc::sigaction(signal, Some(&default)) };
    proc::queue_to_self(info);
    proc::set_mask(!bit(signal));
    proc::raise(signal);
    proc::exit_group(128 + signal as i32)
}

/// The app's frame for sigreturn cannot be read: the kernel forces SIGSEGV.
pub fn no_stack(thread: &mut Thread) {
    let info = SigInfo::fault(c::SIGSEGV, 0x80, 0);
    die(thread, c::SIGSEGV, &info);
}

/// A fault inside ppin itself. The program's state is lost: say so, and die of it.
pub fn crash(thread: &mut Thread, signal: u32, info: &SigInfo, context: &UContext) {
    let pc = context.gregs[greg::RIP];
    report::line(format_args!(
        "ppin: internal error: signal {signal} (code {}, address {:#x}) at {} in thread {}",
        info.code,
        info.rest[0],
        vm::describe(pc),
        thread.tid,
    ));
    diagnosis::say(Some(thread), Some(pc));
    die_now(signal, info);
}
