//! System calls.
//!
//! # Safety
//!
//! Each call reads strings that end with 0, and writes at most the buffer that it is given. What is
//! executed has its arguments and environment from [`crate::Stack`], which vouches for them.
#![allow(unsafe_code)]

use core::ffi::CStr;
use core::mem::MaybeUninit;
use ppin_inject::sys::nr::{
    __NR_close, __NR_faccessat2, __NR_fstat, __NR_ftruncate, __NR_getcwd, __NR_geteuid,
    __NR_newfstatat, __NR_openat, __NR_openat2, __NR_pread64, __NR_prlimit64, __NR_read,
    __NR_readlink, AT_EACCESS, AT_FDCWD, AT_SYMLINK_NOFOLLOW, O_APPEND, O_CLOEXEC, O_CREAT,
    O_NOCTTY, O_NONBLOCK, O_RDONLY, O_WRONLY, RESOLVE_NO_SYMLINKS, RLIMIT_AS, RLIMIT_DATA, X_OK,
    open_how, rlimit64, stat,
};
use ppin_inject::sys::{Args, check, syscall};
use ppin_inject::{Launch, launch_once};

const HERE: usize = AT_FDCWD as usize;
/// File type in `st_mode` (inode(7)), and that of regular files and of pipes.
const TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const PIPE: u32 = 0o010_000;
/// Permissions of new files, before the umask.
const NEW: usize = 0o666;

/// What stat(2) says of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Status {
    pub mode: u32,
    pub owner: u32,
    /// Device and inode number: which file it is.
    pub identity: [u64; 2],
}

impl Status {
    pub(crate) const fn is_file(self) -> bool {
        self.mode & TYPE == REGULAR
    }

    pub(crate) const fn is_pipe(self) -> bool {
        self.mode & TYPE == PIPE
    }
}

/// A limit of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    AddressSpace,
    Data,
}

fn call(number: u32, args: Args) -> Option<usize> {
    // SAFETY: see the module.
    check(unsafe { syscall(number, args) }).ok()
}

fn at(text: &CStr) -> usize {
    text.as_ptr() as usize
}

/// The status of the file at `path`; `follow`: of what a symbolic link leads to.
pub(crate) fn status(path: &CStr, follow: bool) -> Option<Status> {
    let flags = if follow {
        0
    } else {
        AT_SYMLINK_NOFOLLOW as usize
    };
    read_status(|to| call(__NR_newfstatat, [HERE, at(path), to, flags, 0, 0]))
}

/// The status of what descriptor `fd` is open for.
pub(crate) fn status_of(fd: usize) -> Option<Status> {
    read_status(|to| call(__NR_fstat, [fd, to, 0, 0, 0, 0]))
}

/// What `ask` writes to the address that it is given.
fn read_status(ask: impl FnOnce(usize) -> Option<usize>) -> Option<Status> {
    let mut found = MaybeUninit::<stat>::uninit();
    ask(found.as_mut_ptr() as usize)?;
    // SAFETY: the call has filled it.
    let found = unsafe { found.assume_init() };
    Some(Status {
        mode: found.st_mode,
        owner: found.st_uid,
        identity: [found.st_dev, found.st_ino],
    })
}

/// Makes the file at `path` if there is none; if it is a regular one, `empties` it.
pub(crate) fn make(path: &CStr, empties: bool) -> Option<()> {
    let how = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    let file = call(__NR_openat, [HERE, at(path), how as usize, NEW, 0, 0])?;
    let emptied = match status_of(file) {
        Some(status) if empties && status.is_file() => call(__NR_ftruncate, [file, 0, 0, 0, 0, 0]),
        status => status.map(|_| 0),
    };
    call(__NR_close, [file, 0, 0, 0, 0, 0]);
    emptied.map(|_| ())
}

/// Whether the effective user may execute the file at `path`.
pub(crate) fn may_execute(path: &CStr) -> bool {
    let args = [HERE, at(path), X_OK as usize, AT_EACCESS as usize, 0, 0];
    call(__NR_faccessat2, args).is_some()
}

/// Reads the first bytes of the file at `path`; how many.
pub(crate) fn read_head(path: &CStr, head: &mut [u8]) -> Option<usize> {
    let flags = (O_RDONLY | O_NONBLOCK | O_CLOEXEC) as usize;
    let file = call(__NR_openat, [HERE, at(path), flags, 0, 0, 0])?;
    let to = head.as_mut_ptr() as usize;
    let len = call(__NR_read, [file, to, head.len(), 0, 0, 0]);
    call(__NR_close, [file, 0, 0, 0, 0, 0]);
    len
}

/// Opens the file at `path` for reading, if no part of the path is a symbolic link.
pub(crate) fn open_without_links(path: &CStr) -> Option<i32> {
    let how = open_how {
        flags: (O_RDONLY | O_CLOEXEC).into(),
        mode: 0,
        resolve: RESOLVE_NO_SYMLINKS.into(),
    };
    let (how, len) = ((&raw const how) as usize, size_of::<open_how>());
    let file = call(__NR_openat2, [HERE, at(path), how, len, 0, 0])?;
    Some(file as i32)
}

/// Reads from byte `offset` of `file`; how many bytes.
pub(crate) fn read_at(file: i32, to: &mut [u8], offset: u64) -> Option<usize> {
    let (buffer, len) = (to.as_mut_ptr() as usize, to.len());
    call(
        __NR_pread64,
        [file as usize, buffer, len, offset as usize, 0, 0],
    )
}

/// Closes `file`, which is ours.
pub(crate) fn close(file: i32) {
    call(__NR_close, [file as usize, 0, 0, 0, 0, 0]);
}

/// Reads where the symbolic link at `path` leads to; how many bytes.
pub(crate) fn read_link(path: &CStr, to: &mut [u8]) -> Option<usize> {
    let args = [at(path), to.as_mut_ptr() as usize, to.len(), 0, 0, 0];
    call(__NR_readlink, args)
}

/// Writes the path of the current directory, with the byte that ends it; how many bytes. It does
/// not begin with a slash if the directory cannot be reached from the root.
pub(crate) fn current_directory(to: &mut [u8]) -> Option<usize> {
    let args = [to.as_mut_ptr() as usize, to.len(), 0, 0, 0, 0];
    call(__NR_getcwd, args)
}

/// The effective user id.
pub(crate) fn effective_user() -> u32 {
    call(__NR_geteuid, [0; 6]).unwrap_or_default() as u32
}

/// The soft and the hard limit.
pub(crate) fn limit(limit: Limit) -> Option<(u64, u64)> {
    let number = match limit {
        Limit::AddressSpace => RLIMIT_AS,
        Limit::Data => RLIMIT_DATA,
    };
    let mut found = MaybeUninit::<rlimit64>::uninit();
    let to = found.as_mut_ptr() as usize;
    call(__NR_prlimit64, [0, number as usize, 0, to, 0, 0])?;
    // SAFETY: the call has filled it.
    let found = unsafe { found.assume_init() };
    Some((found.rlim_cur, found.rlim_max))
}

/// Becomes a program. Returns if that fails.
pub(crate) fn execute(program: &Launch<'_>) {
    // SAFETY: see the module.
    let _ = unsafe { launch_once(program) };
}
