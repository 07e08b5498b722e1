//! Calls that wait with another signal mask: rt_sigsuspend, ppoll, pselect6,
//! epoll_pwait; and restart_syscall, which goes on with a wait.
//!
//! The mask for the kernel leaves faults unblocked; the app's is saved for the frame of the signal
//! that ends the wait.

use super::outcome::{Outcome, pass_interruptible};
use crate::life::leave;
use ppin_os::{Errno, c, peek};
use ppin_process::pending;
use ppin_process::signal::{UNCATCHABLE, kernel_mask};
use ppin_process::thread::{Thread, reg};

/// Handles one of these calls.
pub(super) fn handle(thread: &mut Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    match nr {
        c::__NR_rt_sigsuspend => wait(thread, nr, args, args[0], |args, set| args[0] = set),
        c::__NR_ppoll => wait(thread, nr, args, args[3], |args, set| args[3] = set),
        c::__NR_pselect6 => pselect6(thread, args),
        c::__NR_restart_syscall => restart(thread, args),
        _ => wait(thread, nr, args, args[4], |args, set| args[4] = set),
    }
}

/// Goes on with the wait that the thread was in when the program came under ppin. What the kernel remembers of it is lost
/// if the thread has been in a handler since, also in one of the VM: it then reports an interruption that nobody has
/// asked for, and the call is made anew.
fn restart(thread: &mut Thread, args: &[usize; 6]) -> Outcome {
    let outcome = pass_interruptible(thread, c::__NR_restart_syscall, args);
    let lost = matches!(outcome, Outcome::Done(result) if result == Errno::EINTR.raw());
    if lost && thread.pending == 0 && thread.signals.in_call.number != 0 {
        thread.regs.gpr[reg::RAX] = thread.signals.in_call.number;
        return Outcome::Again;
    }
    outcome
}

/// Makes the call with another mask. `set` is the app's pointer to it; `put` stores the VM's
/// pointer in the arguments.
fn wait(
    thread: &mut Thread,
    nr: u32,
    args: &[usize; 6],
    set: usize,
    put: impl FnOnce(&mut [usize; 6], usize),
) -> Outcome {
    if set == 0 {
        return pass_interruptible(thread, nr, args);
    }
    let Some(mask) = peek::read_value::<u64>(set as u64) else {
        return refused(thread, nr, args);
    };
    let kernel = kernel_mask(mask);
    let mut args = *args;
    put(&mut args, &raw const kernel as usize);
    with_mask(thread, mask & !UNCATCHABLE, |thread| {
        pass_interruptible(thread, nr, &args)
    })
}

/// The mask cannot be read: the kernel returns that error, unless it finds another one first.
fn refused(thread: &Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    pass_interruptible(thread, nr, args)
}

/// pselect6: the sixth argument points to a pair of pointer and size.
fn pselect6(thread: &mut Thread, args: &[usize; 6]) -> Outcome {
    if args[5] == 0 {
        return pass_interruptible(thread, c::__NR_pselect6, args);
    }
    let Some([set, size]) = peek::read_value::<[u64; 2]>(args[5] as u64) else {
        return refused(thread, c::__NR_pselect6, args);
    };
    let mut pair = [0, size];
    let pair_at = &raw mut pair;
    wait(thread, c::__NR_pselect6, args, set as usize, |args, set| {
        // SAFETY: the pair outlives the call.
        unsafe { (*pair_at)[0] = set as u64 };
        args[5] = pair_at as usize;
    })
}

/// Makes `call` while `mask` is the app's mask. A signal that ends the wait is delivered under that
/// mask, and its frame restores the former one.
fn with_mask(thread: &mut Thread, mask: u64, call: impl FnOnce(&Thread) -> Outcome) -> Outcome {
    let before = core::mem::replace(&mut thread.signals.mask, mask);
    pending::release(thread);
    let outcome = call(thread);
    if thread.pending == 0 || leave::is_all_that_waits(thread) {
        thread.signals.mask = before;
        return outcome;
    }
    thread.signals.saved_mask = Some(before);
    match outcome {
        // (The signal counts as having ended the wait, even if the kernel had not begun it.)
        Outcome::Again => Outcome::Done(Errno::EINTR.raw()),
        other => other,
    }
}
