//! Reports on standard error, for programs that close it first.
//!
//! Many programs (all of coreutils) close descriptors 1 and 2 just before they exit,
//! to learn of write errors. A report that is due on descriptor 2 would be lost. So
//! the close of 2 leaves a duplicate behind, which lives only as long as the process
//! does nothing but close and exit: at any other system call it is given up before
//! the call is made. A daemon does not hold its caller's pipe open.

use super::{Outcome, pass_interruptible, table};
use crate::config::Config;
use crate::outlet;
use crate::thread::Thread;
use crate::vm;
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use ppin_abi::boot::flag;
use ppin_os::{c, call, file};

const NONE: i32 = -1;
const EBADF: isize = -9;

/// Whether a report may be due on descriptor 2: one that goes to a file falls back to it.
static DUE: AtomicBool = AtomicBool::new(false);
/// The duplicate.
static KEPT: AtomicI32 = AtomicI32::new(NONE);

/// Decides whether closes are of interest.
pub fn init(config: &Config) {
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

/// The descriptor to write a report to instead of 2, if the app has closed that.
pub fn descriptor() -> Option<i32> {
    Some(KEPT.load(Ordering::Relaxed)).filter(|fd| *fd != NONE)
}

/// What becomes of a call, if that is decided here.
pub fn decide(thread: &mut Thread, nr: u32, args: &[usize; 6]) -> Option<Outcome> {
    let kept = KEPT.load(Ordering::Relaxed);
    match nr {
        c::__NR_close if kept != NONE && args[0] as i32 == kept => Some(Outcome::Done(EBADF)),
        c::__NR_close => {
            if args[0] as i32 == 2 && kept == NONE {
                keep();
            }
            Some(pass_interruptible(thread, nr, args))
        }
        _ if kept == NONE => None,
        c::__NR_exit | c::__NR_exit_group => None,
        _ => {
            give_up(kept);
            Some(Outcome::Again)
        }
    }
}

fn keep() {
    if vm::lock().threads.len() != 1 || !outlet::stderr_is_the_first() {
        return;
    }
    // SAFETY: duplicates a descriptor.
    if let Ok(fd) = unsafe {
        call(
            c::__NR_fcntl,
            [2, c::F_DUPFD_CLOEXEC as usize, file::HIGH, 0, 0, 0],
        )
    } {
        KEPT.store(fd as i32, Ordering::Relaxed);
        table::every();
    }
}

fn give_up(kept: i32) {
    // SAFETY: the duplicate is ours.
    let _ = unsafe { call(c::__NR_close, [kept as usize, 0, 0, 0, 0, 0]) };
    table::some();
    KEPT.store(NONE, Ordering::Relaxed);
    watch_closes();
}
