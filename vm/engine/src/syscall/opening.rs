//! Opening files, and reading some: there are files that tell of this process's memory
//! ([`ppin_listing`]), and one is it ([`super::own_memory`]).

use super::outcome::{Outcome, pass, pass_interruptible};
use super::own_memory;
use ppin_listing::{self as listing, map_files};
use ppin_os::{Errno, c, descriptor, peek, userfault};
use ppin_process::thread::Thread;

/// Longest path (`PATH_MAX`).
const LONGEST: usize = 4096;

/// Makes the call, and looks at what was opened.
pub(super) fn handle(thread: &Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    const EPERM: isize = Errno::EPERM.raw();
    let outcome = pass_interruptible(thread, nr, args);
    let fd = match outcome {
        Outcome::Done(EPERM) if is_link_of_ours(nr, args, &path(nr, args).unwrap_or_default()) => {
            return Outcome::Done(Errno::ENOENT.raw());
        }
        Outcome::Done(fd @ 0..) => fd,
        _ => return outcome,
    };
    let flags = flags(nr, args);
    let writes = flags & c::O_ACCMODE != c::O_RDONLY;
    if writes {
        own_memory::opened(fd as i32);
    }
    let path = path(nr, args).unwrap_or_default();
    if is_link_of_ours(nr, args, &path) {
        descriptor::close(fd as i32);
        return Outcome::Done(Errno::ENOENT.raw());
    }
    if map_files::may_be(&path) {
        map_files::opened(fd as i32);
    }
    if flags & c::O_PATH != 0 {
        return outcome;
    }
    if path.ends_with(userfault::DEVICE) {
        super::outcome::userfault_begins();
    } else if !writes && listing::has_known_name(&path) {
        listing::opened(fd as i32);
    }
    outcome
}

/// Whether what was opened, or would have been, is a link to something of ours.
fn is_link_of_ours(nr: u32, args: &[usize; 6], path: &[u8]) -> bool {
    let dir = match nr {
        c::__NR_open | c::__NR_creat => c::AT_FDCWD,
        _ => args[0] as i32,
    };
    map_files::names_ours(dir, path)
}

fn flags(nr: u32, args: &[usize; 6]) -> u32 {
    match nr {
        c::__NR_open => args[1] as u32,
        c::__NR_openat => args[2] as u32,
        // `struct open_how` begins with them.
        c::__NR_openat2 => peek::read_value::<u64>(args[2] as u64).unwrap_or(0) as u32,
        _ => c::O_WRONLY,
    }
}

/// Without its terminating zero.
fn path(nr: u32, args: &[usize; 6]) -> Option<alloc::vec::Vec<u8>> {
    let at = match nr {
        c::__NR_open | c::__NR_creat => args[0],
        _ => args[1],
    };
    let mut path = peek::c_string(at as u64, LONGEST)?;
    path.pop();
    Some(path)
}

/// The app reads a folder.
pub(super) fn read_folder(nr: u32, args: &[usize; 6]) -> isize {
    map_files::read(nr, args[0] as i32, args[1] as u64, || pass(nr, args))
}

/// The app asks a file something by ioctl(2); the result, if it is decided here.
pub(super) fn ask(args: &[usize; 6]) -> Option<isize> {
    listing::ask(args[0] as i32, args[1] as u32, args[2] as u64)
}

/// The app is about to read from a file.
pub(super) fn before_read(nr: u32, args: &[usize; 6]) {
    let position = match nr {
        c::__NR_pread64 | c::__NR_preadv | c::__NR_preadv2 => Some(args[3] as u64),
        _ => None,
    };
    // preadv2 knows a position that stands for none.
    listing::before_read(args[0] as i32, position.filter(|at| *at != u64::MAX));
}
