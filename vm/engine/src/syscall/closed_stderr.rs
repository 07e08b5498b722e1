//! Keeps standard error for reports of programs that close it before they exit.
//!
//! Many programs (all of coreutils) close descriptors 1 and 2 just before they exit, to notice
//! write errors. A report that is due on descriptor 2 would be lost. So when the program closes
//! descriptor 2, a duplicate is kept while the process does nothing but close and exit: it is
//! closed before any other system call. So a daemon does not hold its caller's pipe open.

use super::outcome::{Outcome, pass_interruptible};
use core::sync::atomic::{AtomicBool, Ordering};
use ppin_abi::boot::flag;
use ppin_os::{Errno, c, call, file};
use ppin_process::config::Config;
use ppin_process::gate::table;
use ppin_process::report::stderr;
use ppin_process::thread::Thread;
use ppin_process::vm;

/// Whether a report may be due on descriptor 2. (A report for a file falls back to it.)
static DUE: AtomicBool = AtomicBool::new(false);

/// Decides whether close(2) must enter the VM.
pub(crate) fn init(config: &Config) {
    let stats = config.flags & flag::STATS != 0;
    let due = !config.tools.is_empty() || stats || !config.log.is_empty();
    DUE.store(due, Ordering::Relaxed);
    watch_closes();
}

fn watch_closes() {
    if DUE.load(Ordering::Relaxed) {
        table::watch(c::__NR_close);
    }
}

/// Handles a call, if that is to be done here.
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
    if vm::lock().threads().len() != 1 || !stderr::is_the_first() {
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
    // SAFETY: the duplicate was made here.
    let _ = unsafe { call(c::__NR_close, [kept as usize, 0, 0, 0, 0, 0]) };
    table::watch_needed();
    stderr::keep_duplicate(None);
    watch_closes();
}
