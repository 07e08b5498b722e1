//! Reports on standard error, for programs that close it first.
//!
//! Many programs (all of coreutils) close descriptors 1 and 2 just before they exit,
//! to learn of write errors. A report that is due on descriptor 2 would be lost. So
//! the close of 2 leaves a duplicate behind, which lives only as long as the process
//! does nothing but close and exit: at any other system call it is given up before
//! the call is made. A daemon does not hold its caller's pipe open.

use super::outcome::{Outcome, pass_interruptible};
use core::sync::atomic::{AtomicBool, Ordering};
use ppin_abi::boot::flag;
use ppin_os::{Errno, c, call, file};
use ppin_process::config::Config;
use ppin_process::gate::table;
use ppin_process::report::stderr;
use ppin_process::thread::Thread;
use ppin_process::vm;

/// Whether a report may be due on descriptor 2: one that goes to a file falls back to it.
static DUE: AtomicBool = AtomicBool::new(false);

/// Decides whether closes are of interest.
pub(crate) fn init(config: &Config) {
    let stats = config.flags & flag::STATS != 0;
    let due = config.tool != "null" || stats || !config.log.is_empty();
    DUE.store(due, Ordering::Relaxed);
    watch_closes();
}

fn watch_closes() {
    if DUE.load(Ordering::Relaxed) {
        table::watch(c::__NR_close);
    }
}

/// What becomes of a call, if that is decided here.
pub(crate) fn decide(thread: &mut Thread, nr: u32, args: &[usize; 6]) -> Option<Outcome> {
    let kept = stderr::duplicate();
    match nr {
        c::__NR_close if kept == Some(args[0] as i32) => Some(Outcome::Done(Errno::EBADF.raw())),
        c::__NR_close => {
            if args[0] as i32 == 2 && kept.is_none() {
                keep();
            }
            Some(pass_interruptible(thread, nr, args))
        }
        _ if kept.is_none() => None,
        c::__NR_exit | c::__NR_exit_group => None,
        _ => {
            kept.into_iter().for_each(give_up);
            Some(Outcome::Again)
        }
    }
}

fn keep() {
    if vm::lock().threads.len() != 1 || !stderr::is_the_first() {
        return;
    }
    // SAFETY: duplicates a descriptor.
    if let Ok(fd) = unsafe {
        call(
            c::__NR_fcntl,
            [2, c::F_DUPFD_CLOEXEC as usize, file::HIGH, 0, 0, 0],
        )
    } {
        stderr::keep_duplicate(Some(fd as i32));
        table::watch_all();
    }
}

fn give_up(kept: i32) {
    // SAFETY: the duplicate is ours.
    let _ = unsafe { call(c::__NR_close, [kept as usize, 0, 0, 0, 0, 0]) };
    table::watch_needed();
    stderr::keep_duplicate(None);
    watch_closes();
}
