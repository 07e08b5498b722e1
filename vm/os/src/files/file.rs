//! Files, by the few calls that persistence and reports need. Paths are
//! zero-terminated byte strings.

use crate::c;
use crate::call::call;
use crate::errno::{Errno, Result};
use alloc::vec::Vec;

/// A descriptor that is closed when dropped. Always close-on-exec.
#[derive(Debug)]
pub struct File(i32);

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours.
        let _ = unsafe { call(c::__NR_close, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }
}

/// What identifies a state of a file: if any field differs, its bytes may.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stat {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Mode bits with the file type.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Modification time: seconds, nanoseconds.
    pub mtime: (i64, u32),
    /// Change time: seconds, nanoseconds.
    pub ctime: (i64, u32),
}

/// Path with its terminating zero.
#[must_use]
pub fn c_path(path: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len() + 1);
    bytes.extend_from_slice(path.as_bytes());
    bytes.push(0);
    bytes
}

/// Descriptors from this number on are out of the app's way (see `ppin_inject`).
pub const HIGH: usize = 56;

impl File {
    /// Moves the descriptor to a number from [`HIGH`] on, and leaves it open until the process
    /// ends.
    ///
    /// # Errors
    /// The kernel's; the descriptor is closed then.
    pub fn raise(self) -> Result<i32> {
        let args = [self.0 as usize, c::F_DUPFD_CLOEXEC as usize, HIGH, 0, 0, 0];
        // SAFETY: duplicates a descriptor.
        unsafe { call(c::__NR_fcntl, args) }.map(|fd| fd as i32)
    }

    /// Opens `path` with `O_*` flags; `O_CLOEXEC` is added. `mode` for creation.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open(path: &str, flags: u32, mode: u32) -> Result<Self> {
        let path = c_path(path);
        Self::create_at(c::AT_FDCWD, &path, flags, mode)
    }

    /// Opens a terminated path relative to directory descriptor `dir`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open_at(dir: i32, path: &[u8], flags: u32) -> Result<Self> {
        Self::create_at(dir, path, flags, 0)
    }

    /// Opens a terminated path relative to directory descriptor `dir`; a file that this creates
    /// gets `mode`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn create_at(dir: i32, path: &[u8], flags: u32, mode: u32) -> Result<Self> {
        let flags = flags | c::O_CLOEXEC;
        // SAFETY: the path is terminated and outlives the call.
        let fd = unsafe {
            call(
                c::__NR_openat,
                [
                    dir as isize as usize,
                    path.as_ptr() as usize,
                    flags as usize,
                    mode as usize,
                    0,
                    0,
                ],
            )
        }?;
        Ok(Self(fd as i32))
    }

    /// Whether the file carries capabilities (capabilities(7), "File capabilities").
    #[must_use]
    pub fn has_capabilities(&self) -> bool {
        let name = c"security.capability";
        // SAFETY: asks for the size only.
        unsafe {
            call(
                c::__NR_fgetxattr,
                [self.0 as usize, name.as_ptr() as usize, 0, 0, 0, 0],
            )
        }
        .is_ok()
    }

    /// Takes ownership of descriptor `fd`, which the runtime has opened.
    #[must_use]
    pub fn from_fd(fd: i32) -> Self {
        Self(fd)
    }

    /// The descriptor's number.
    #[must_use]
    pub fn fd(&self) -> i32 {
        self.0
    }

    /// State of the file.
    ///
    /// # Errors
    /// The kernel's.
    pub fn stat(&self) -> Result<Stat> {
        stat_fd(self.0)
    }

    /// Sets those `O_*` flags of the open file that can be changed (`F_SETFL` of fcntl(2)).
    pub fn set_status(&self, flags: u32) {
        let args = [
            self.0 as usize,
            c::F_SETFL as usize,
            flags as usize,
            0,
            0,
            0,
        ];
        // SAFETY: changes a descriptor of ours.
        let _ = unsafe { call(c::__NR_fcntl, args) };
    }

    /// Reads up to `buf.len()` bytes at `offset`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        // SAFETY: the buffer is ours.
        unsafe {
            call(
                c::__NR_pread64,
                [
                    self.0 as usize,
                    buf.as_mut_ptr() as usize,
                    buf.len(),
                    offset as usize,
                    0,
                    0,
                ],
            )
        }
    }

    /// Reads up to `max` bytes from the start.
    ///
    /// # Errors
    /// The kernel's.
    pub fn read_all(&self, max: usize) -> Result<Vec<u8>> {
        read_all(self.0, max)
    }

    /// Writes all of `bytes` at the current position.
    ///
    /// # Errors
    /// The kernel's; part may have been written.
    pub fn write_all(&self, bytes: &[u8]) -> Result<()> {
        write_all(self.0, bytes)
    }

    /// Takes the advisory lock of the file (flock(2)), which lasts until the file is closed. Does
    /// not wait.
    ///
    /// # Errors
    /// The kernel's; `EAGAIN` if another process holds the lock.
    pub fn lock(&self) -> Result<()> {
        let args = [
            self.0 as usize,
            (c::LOCK_EX | c::LOCK_NB) as usize,
            0,
            0,
            0,
            0,
        ];
        // SAFETY: no pointers.
        unsafe { call(c::__NR_flock, args) }.map(drop)
    }

    /// Sets the file position to the start.
    pub fn rewind(&self) {
        let args = [self.0 as usize, 0, c::SEEK_SET as usize, 0, 0, 0];
        // SAFETY: no pointers.
        let _ = unsafe { call(c::__NR_lseek, args) };
    }

    /// Sets the length of the file.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_len(&self, len: u64) -> Result<()> {
        // SAFETY: no pointers.
        unsafe {
            call(
                c::__NR_ftruncate,
                [self.0 as usize, len as usize, 0, 0, 0, 0],
            )
        }
        .map(drop)
    }

    /// Sets the modification time.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_mtime(&self, seconds: i64, nanos: u32) -> Result<()> {
        let times: [i64; 4] = [0, i64::from(c::UTIME_OMIT), seconds, i64::from(nanos)];
        // SAFETY: two timespecs, as utimensat(2) wants; a null path means the descriptor.
        unsafe {
            call(
                c::__NR_utimensat,
                [self.0 as usize, 0, times.as_ptr() as usize, 0, 0, 0],
            )
        }
        .map(drop)
    }
}

/// State of the file that descriptor `fd` is open for; the descriptor may be the app's.
///
/// # Errors
/// The kernel's.
pub fn stat_fd(fd: i32) -> Result<Stat> {
    // SAFETY: `stat` is plain data that fstat fills in.
    let (st, _) = unsafe {
        let mut st: c::stat = core::mem::zeroed();
        let done = call(
            c::__NR_fstat,
            [fd as usize, &raw mut st as usize, 0, 0, 0, 0],
        )?;
        (st, done)
    };
    Ok(state(&st))
}

/// State of the file at `path`; a symbolic link is not followed.
///
/// # Errors
/// The kernel's.
pub fn stat_of(path: &str) -> Result<Stat> {
    stat_at(c::AT_FDCWD, path)
}

/// State of the file at `path`, relative to directory descriptor `dir`; a symbolic link is not
/// followed.
///
/// # Errors
/// The kernel's.
pub fn stat_at(dir: i32, path: &str) -> Result<Stat> {
    stat_by(dir, path, c::AT_SYMLINK_NOFOLLOW)
}

/// State of the file at `path`, or of what a symbolic link there leads to.
///
/// # Errors
/// The kernel's.
pub fn stat_behind(path: &str) -> Result<Stat> {
    stat_by(c::AT_FDCWD, path, 0)
}

fn stat_by(dir: i32, path: &str, flags: u32) -> Result<Stat> {
    let path = c_path(path);
    // SAFETY: a terminated path, and plain data that the kernel fills in.
    let (st, _) = unsafe {
        let mut st: c::stat = core::mem::zeroed();
        let args = [
            dir as isize as usize,
            path.as_ptr() as usize,
            &raw mut st as usize,
            flags as usize,
            0,
            0,
        ];
        let done = call(c::__NR_newfstatat, args)?;
        (st, done)
    };
    Ok(state(&st))
}

fn state(st: &c::stat) -> Stat {
    Stat {
        dev: st.st_dev,
        ino: st.st_ino,
        mode: st.st_mode,
        uid: st.st_uid,
        size: st.st_size as u64,
        mtime: (st.st_mtime as i64, st.st_mtime_nsec as u32),
        ctime: (st.st_ctime as i64, st.st_ctime_nsec as u32),
    }
}

/// Writes all of `bytes` to descriptor `fd`.
///
/// # Errors
/// The kernel's; part may have been written.
pub fn write_all(fd: i32, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        // SAFETY: the slice is ours.
        match unsafe {
            call(
                c::__NR_write,
                [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0],
            )
        } {
            Ok(n) => bytes = &bytes[n..],
            Err(Errno::EINTR) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Whether this process may write a file of `len` bytes. A write beyond `RLIMIT_FSIZE` would not
/// only fail, but also raise `SIGXFSZ` (setrlimit(2)).
#[must_use]
pub fn may_write(len: usize) -> bool {
    let mut limit = [u64::MAX; 2];
    let args = [
        c::RLIMIT_FSIZE as usize,
        limit.as_mut_ptr() as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel writes a `struct rlimit`.
    let _ = unsafe { call(c::__NR_getrlimit, args) };
    limit[0] >= len as u64
}

/// renameat(2) within directory descriptor `dir`.
///
/// # Errors
/// The kernel's.
pub fn rename_at(dir: i32, from: &str, to: &str) -> Result<()> {
    let (from, to) = (c_path(from), c_path(to));
    let dir = dir as isize as usize;
    let args = [dir, from.as_ptr() as usize, dir, to.as_ptr() as usize, 0, 0];
    // SAFETY: both paths are terminated and outlive the call.
    unsafe { call(c::__NR_renameat, args) }.map(drop)
}

/// Whether files may be created in the directory `path` (access(2)).
#[must_use]
pub fn is_writable(path: &str) -> bool {
    let path = c_path(path);
    // SAFETY: the path is terminated.
    unsafe {
        call(
            c::__NR_access,
            [path.as_ptr() as usize, c::W_OK as usize, 0, 0, 0, 0],
        )
    }
    .is_ok()
}

/// Links the open file `from` as `name` in directory descriptor `dir`; fails if the name exists.
///
/// # Errors
/// The kernel's.
pub fn link_at(from: &File, dir: i32, name: &str) -> Result<()> {
    let (from, name) = (
        c_path(&alloc::format!("/proc/self/fd/{}", from.0)),
        c_path(name),
    );
    let args = [
        c::AT_FDCWD as isize as usize,
        from.as_ptr() as usize,
        dir as isize as usize,
        name.as_ptr() as usize,
        c::AT_SYMLINK_FOLLOW as usize,
        0,
    ];
    // SAFETY: both paths are terminated and outlive the call.
    unsafe { call(c::__NR_linkat, args) }.map(drop)
}

/// unlinkat(2) of a file in directory descriptor `dir`.
///
/// # Errors
/// The kernel's.
pub fn unlink_at(dir: i32, name: &str) -> Result<()> {
    let name = c_path(name);
    let args = [dir as isize as usize, name.as_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the path is terminated.
    unsafe { call(c::__NR_unlinkat, args) }.map(drop)
}

/// Sets the modification time of `path` to now, if the file exists.
pub fn touch(path: &str) {
    let path = c_path(path);
    let times: [i64; 4] = [0, i64::from(c::UTIME_OMIT), 0, i64::from(c::UTIME_NOW)];
    let args = [
        c::AT_FDCWD as isize as usize,
        path.as_ptr() as usize,
        times.as_ptr() as usize,
        c::AT_SYMLINK_NOFOLLOW as usize,
        0,
        0,
    ];
    // SAFETY: a terminated path and two timespecs.
    let _ = unsafe { call(c::__NR_utimensat, args) };
}

/// Removes the directory `path` if it is empty.
pub fn remove_dir(path: &str) {
    let path = c_path(path);
    let dir = c::AT_FDCWD as isize as usize;
    let flags = c::AT_REMOVEDIR as usize;
    // SAFETY: the path is terminated.
    let _ = unsafe {
        call(
            c::__NR_unlinkat,
            [dir, path.as_ptr() as usize, flags, 0, 0, 0],
        )
    };
}

/// Creates a directory that only the user can enter. Returns whether it was created; a directory
/// that exists is no error.
///
/// # Errors
/// The kernel's.
pub fn make_dir(path: &str) -> Result<bool> {
    let path = c_path(path);
    // SAFETY: the path is terminated.
    match unsafe { call(c::__NR_mkdir, [path.as_ptr() as usize, 0o700, 0, 0, 0, 0]) } {
        Err(e) if e != Errno::EEXIST => Err(e),
        made => Ok(made.is_ok()),
    }
}

/// Reads up to `max` bytes from the file position on: sequentially, since the files of /proc have
/// no size and do not support arbitrary offsets.
///
/// # Errors
/// The kernel's.
pub fn read_all(fd: i32, max: usize) -> Result<Vec<u8>> {
    /// The most that is made room for before it is there: the caller may know the size.
    const AT_ONCE: usize = 64 << 10;
    let room = if max <= AT_ONCE { max.max(1) } else { 4096 };
    let mut data = alloc::vec![0; room];
    let mut len = 0;
    loop {
        let room = &mut data[len..];
        let args = [fd as usize, room.as_mut_ptr() as usize, room.len(), 0, 0, 0];
        // SAFETY: the slice is ours.
        let n = unsafe { call(c::__NR_read, args) }?;
        len += n;
        if n == 0 || len >= max {
            data.truncate(len.min(max));
            return Ok(data);
        }
        if len == data.len() {
            data.resize(2 * len, 0);
        }
    }
}
