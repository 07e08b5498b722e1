//! Open files by descriptor number, those of the app included.

use crate::c;
use crate::call::call;
use crate::errno::{Errno, Result};
use crate::file::{File, c_path};
use alloc::format;
use alloc::string::String;
use core::ffi::CStr;

/// Path of the file that descriptor `fd` is open for (`/proc/self/fd`); empty if the kernel does
/// not tell.
#[must_use]
pub fn path_of(fd: i32) -> String {
    link(&format!("/proc/self/fd/{fd}"))
}

/// Target of the symbolic link at `path`; empty if it cannot be read.
#[must_use]
pub fn link(path: &str) -> String {
    let link = c_path(path);
    let mut buffer = [0u8; 4096];
    let args = [
        link.as_ptr() as usize,
        buffer.as_mut_ptr() as usize,
        buffer.len(),
        0,
        0,
        0,
    ];
    // SAFETY: a terminated path and a buffer of ours.
    let len = unsafe { call(c::__NR_readlink, args) }.unwrap_or(0);
    String::from_utf8_lossy(&buffer[..len]).into_owned()
}

/// File position of descriptor `fd`, in bytes from the start.
///
/// # Errors
/// The kernel's: the file has no position (a pipe, a socket).
pub fn position(fd: i32) -> Result<u64> {
    let args = [fd as usize, 0, c::SEEK_CUR as usize, 0, 0, 0];
    // SAFETY: only asks.
    unsafe { call(c::__NR_lseek, args) }.map(|at| at as u64)
}

/// Closes descriptor `fd`, which the app has just got.
pub fn close(fd: i32) {
    // SAFETY: the caller knows who uses the descriptor.
    let _ = unsafe { call(c::__NR_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

/// Whether the file of `fd` lies in `/proc`, or where else that is mounted (statfs(2), `f_type`).
#[must_use]
pub fn is_of_proc(fd: i32) -> bool {
    // `struct statfs` has 120 bytes, the type first.
    let mut info = [0u64; 15];
    let args = [fd as usize, info.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the buffer is as large as what the kernel writes.
    let told = unsafe { call(c::__NR_fstatfs, args) };
    told.is_ok() && info[0] == u64::from(c::PROC_SUPER_MAGIC)
}

/// Makes a file that exists in memory only (memfd_create(2)).
///
/// # Errors
/// The kernel's.
pub fn in_memory(name: &CStr) -> Result<File> {
    let flags = c::MFD_CLOEXEC as usize;
    let args = [name.as_ptr() as usize, flags, 0, 0, 0, 0];
    // SAFETY: a terminated name.
    let fd = unsafe { call(c::__NR_memfd_create, args) }?;
    Ok(File::from_fd(fd as i32))
}

/// Makes descriptor `fd` refer to the open file of `from` (dup3(2)). Its close-on-exec flag stays.
///
/// # Errors
/// The kernel's.
pub fn replace(fd: i32, from: &File) -> Result<()> {
    let asked = [fd as usize, c::F_GETFD as usize, 0, 0, 0, 0];
    // SAFETY: only asks.
    let closes = unsafe { call(c::__NR_fcntl, asked) }? & c::FD_CLOEXEC as usize != 0;
    let flags = if closes { c::O_CLOEXEC as usize } else { 0 };
    let args = [from.fd() as usize, fd as usize, flags, 0, 0, 0];
    // SAFETY: the caller knows who uses `fd`.
    unsafe { call(c::__NR_dup3, args) }.map(drop)
}

/// Runs `work`, which opens files, also where the app has used up its descriptors: the soft
/// `RLIMIT_NOFILE` is raised meanwhile, if the hard limit allows it.
pub fn with_room<T>(work: impl FnOnce() -> T) -> T {
    const NEEDED: u64 = 8;
    let limits = limits().filter(|[soft, hard]| soft < hard && is_full());
    let Some([soft, hard]) = limits else {
        return work();
    };
    set_limits([hard.min(soft + NEEDED), hard]);
    let result = work();
    set_limits([soft, hard]);
    result
}

/// Whether opening a file fails because all descriptors are in use.
fn is_full() -> bool {
    matches!(File::open("/", c::O_PATH, 0), Err(Errno::EMFILE))
}

/// `RLIMIT_NOFILE`, soft and hard.
fn limits() -> Option<[u64; 2]> {
    let mut limits = [0u64; 2];
    let at = limits.as_mut_ptr() as usize;
    // SAFETY: the kernel writes a `struct rlimit`.
    unsafe { call(c::__NR_getrlimit, [NOFILE, at, 0, 0, 0, 0]) }.ok()?;
    Some(limits)
}

fn set_limits(limits: [u64; 2]) {
    let at = limits.as_ptr() as usize;
    // SAFETY: a `struct rlimit` of ours.
    let _ = unsafe { call(c::__NR_setrlimit, [NOFILE, at, 0, 0, 0, 0]) };
}

const NOFILE: usize = c::RLIMIT_NOFILE as usize;
