//! execve and execveat: saves and reports, then follows the new program.
//!
//! Programs that must not or cannot be instrumented (privileged, unreadable, 32-bit) run natively,
//! with their privileges, and are listed in the statistics.

use super::outcome::{Outcome, pass};
use crate::life::end;
use crate::life::follow::{self, Plan};
use alloc::vec::Vec;
use ppin_abi::boot::flag;
use ppin_inject::Exec;
use ppin_os::{c, peek};
use ppin_process::signal::{Actions, MAX_SIGNAL, bit};
use ppin_process::thread::Thread;
use ppin_process::vm;

/// Longest path that the kernel takes.
const PATH_MAX: usize = c::PATH_MAX as usize;

/// Handles the call; returns only if the exec failed.
pub(super) fn handle(thread: &mut Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    let at = (nr == c::__NR_execveat).then_some((args[0] as i32, args[4] as u32));
    let first = usize::from(at.is_some());
    let path = path(args[first] as u64);
    let plan = path
        .as_deref()
        .map_or(Plan::Refused, |path| follow::plan(at, path));
    if plan == Plan::Refused {
        return Outcome::Done(pass_exec(thread, nr, args));
    }
    // (A vfork child notes it in its parent's statistics: the memory is the same.)
    note_native(path.as_deref(), plan);
    if !thread.borrowed_memory {
        end::of_process(&mut vm::lock());
    }
    let wanted = vm::lock().config().flags & flag::FOLLOW != 0;
    let followed = match plan {
        Plan::Follow(program) if wanted => follow::exec(thread, exec_of(args, first, at), program),
        _ => None,
    };
    let result = followed.unwrap_or_else(|| natively(thread, nr, args));
    end::not_reached(&mut vm::lock());
    Outcome::Done(result)
}

/// Makes the app's exec natively, under the app's own limits.
fn natively(thread: &mut Thread, nr: u32, args: &[usize; 6]) -> isize {
    ppin_os::limits::narrow();
    let result = pass_exec(thread, nr, args);
    ppin_os::limits::widen_again(thread.borrowed_memory);
    result
}

/// Makes the app's exec natively, with the current limits: if it fails, a hard limit given up could
/// not be raised again. The new program inherits the app's own mask and ignored signals.
fn pass_exec(thread: &mut Thread, nr: u32, args: &[usize; 6]) -> isize {
    let ignored = thread.process().actions.ignored_faults();
    Actions::leave_ignored(ignored);
    let ours = ppin_os::signals::set_mask(thread.signals.mask);
    ppin_process::pending::hand_over(thread);
    let result = pass(nr, args);
    ppin_os::signals::set_mask(ours);
    for signal in (1..=MAX_SIGNAL).filter(|signal| ignored & bit(*signal) != 0) {
        thread.process().actions.install(signal);
    }
    result
}

fn exec_of(args: &[usize; 6], first: usize, at: Option<(i32, u32)>) -> Exec {
    Exec {
        at,
        path: args[first] as *const u8,
        argv: args[first + 1] as *const *const u8,
        envp: args[first + 2] as *const *const u8,
    }
}

/// The path with its terminating zero; `None` if it cannot be read (the kernel will return the
/// error).
fn path(from: u64) -> Option<Vec<u8>> {
    peek::c_string(from, PATH_MAX)
}

fn note_native(path: Option<&[u8]>, plan: Plan) {
    if let (Some(path), Plan::Native(reason)) = (path, plan) {
        let path = alloc::string::String::from_utf8_lossy(&path[..path.len() - 1]);
        let note = alloc::format!("{path}: {reason}");
        vm::lock().stats_mut().ran_natively(note);
    }
}
