//! What a program reads of its own mappings: `/proc/self/maps` and `smaps`
//! (proc_pid_maps(5)) as they would be without us. Our own are left out, and pages whose
//! code we guard ([`crate::cache::invalidate`]) are as writable as the program has made
//! them: collectors and profilers go by this list.
//!
//! The kernel makes the list when it is read, and so do we: a read from the start of such
//! a file finds a copy in its place, made in that moment. Other processes see all that
//! there is.

mod text;

use crate::cache::invalidate;
use crate::holdings;
use crate::lock::Mutex;
use crate::sys::descriptor::{self, path_of};
use crate::sys::file::{self, File};
use crate::sys::{Errno, Result, c};
use crate::syscall::{is_ours, table};
use crate::vm;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A list that the app has opened.
struct Opened {
    fd: i32,
    /// Where it was found.
    path: String,
    /// Of the file behind the descriptor, that it is still the same.
    inode: u64,
}

static OPENED: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

/// More than any list needs.
const MOST: usize = 64 << 20;
/// `PROC_SUPER_MAGIC`, statfs(2).
const PROC: u64 = 0x9fa0;

/// Whether the file of that name, wherever it lies, may be such a list.
#[must_use]
pub fn is_named_so(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next();
    matches!(name, Some(b"maps" | b"smaps"))
}

/// The app has got descriptor `fd` for such a file. If it tells of this process, reading
/// it is looked at.
pub fn opened(fd: i32) {
    let path = path_of(fd);
    if let Ok(inode) = inode(fd)
        && tells_of_us(&path)
        && descriptor::file_system(fd) == Ok(PROC)
    {
        let mut lists = OPENED.lock();
        lists.retain(|list| list.fd != fd);
        lists.push(Opened { fd, path, inode });
        table::watch_reads(true);
    }
}

/// `/proc/PID/NAME` or `/proc/PID/task/TID/NAME`.
fn tells_of_us(path: &str) -> bool {
    let number = path.rsplit('/').nth(1).and_then(|part| part.parse().ok());
    number.is_some_and(is_ours)
}

fn inode(fd: i32) -> Result<u64> {
    file::stat_fd(fd).map(|stat| stat.ino)
}

/// The app is about to read from `fd` at `position`, or where it stands. A list that
/// cannot be replaced (limits, filters) is read as it is.
pub fn before_read(fd: i32, position: Option<u64>) {
    let mut lists = OPENED.lock();
    let Some(n) = lists.iter().position(|list| list.fd == fd) else {
        return;
    };
    let list = &mut lists[n];
    let going_on = if inode(fd) != Ok(list.inode) {
        false
    } else if position.map_or_else(|| descriptor::position(fd), Ok) != Ok(0) {
        true
    } else {
        renew(list).is_ok()
    };
    if !going_on {
        lists.swap_remove(n);
        table::watch_reads(!lists.is_empty());
    }
}

/// Puts a new copy in its place.
fn renew(list: &mut Opened) -> Result<()> {
    let copy = native(&File::open(&list.path, c::O_RDONLY, 0)?.read_all(MOST)?);
    if !file::may_write(copy.len()) {
        return Err(EFBIG);
    }
    let memory = descriptor::in_memory(c"maps")?;
    memory.write_all(&copy)?;
    // What is opened anew is at its start, and for reading only.
    let path = format!("/proc/self/fd/{}", memory.fd());
    let reading = File::open(&path, c::O_RDONLY, 0)?;
    descriptor::replace(list.fd, &reading)?;
    list.inode = inode(list.fd)?;
    Ok(())
}

const EFBIG: Errno = Errno(27);

fn native(list: &[u8]) -> Vec<u8> {
    let vm = vm::lock();
    let hidden: Vec<_> = holdings::all(&vm).collect();
    text::native(list, &hidden, &invalidate::guarded_pages(&vm))
}
