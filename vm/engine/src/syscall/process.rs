//! Calls that make or end threads and processes.

use super::outcome::Outcome;
use crate::thread::clone::{self, Request};
use crate::thread::exit;
use ppin_os::c;
use ppin_process::thread::Thread;

/// Handles the call.
pub(super) fn handle(thread: &mut Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    match nr {
        c::__NR_exit => exit::thread(thread, args[0] as i32),
        c::__NR_exit_group => exit::process(thread, args[0] as i32),
        c::__NR_fork => Outcome::Done(clone::run(thread, &mut Request::plain(c::SIGCHLD.into()))),
        c::__NR_vfork => {
            let flags = c::CLONE_VM | c::CLONE_VFORK | c::SIGCHLD;
            Outcome::Done(clone::run(thread, &mut Request::plain(flags.into())))
        }
        c::__NR_clone => Outcome::Done(clone::run(thread, &mut Request::clone(args))),
        _ => Outcome::Done(clone3(thread, args)),
    }
}

fn clone3(thread: &mut Thread, args: &[usize; 6]) -> isize {
    match Request::clone3(args[0] as u64, args[1]) {
        Ok(mut request) => clone::run(thread, &mut request),
        Err(error) => error,
    }
}
