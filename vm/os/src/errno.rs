//! Error numbers of the kernel (errno(3)).

use linux_raw_sys::errno;
use ppin_abi::errno::words;

/// A kernel error number (positive).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// Operation not permitted.
    pub const EPERM: Self = Self(errno::EPERM as i32);
    /// No such file or directory.
    pub const ENOENT: Self = Self(errno::ENOENT as i32);
    /// No such process.
    pub const ESRCH: Self = Self(errno::ESRCH as i32);
    /// Interrupted.
    pub const EINTR: Self = Self(errno::EINTR as i32);
    /// No such device or address.
    pub const ENXIO: Self = Self(errno::ENXIO as i32);
    /// Bad file descriptor.
    pub const EBADF: Self = Self(errno::EBADF as i32);
    /// Try again.
    pub const EAGAIN: Self = Self(errno::EAGAIN as i32);
    /// Out of memory, or of mappings.
    pub const ENOMEM: Self = Self(errno::ENOMEM as i32);
    /// Permission denied.
    pub const EACCES: Self = Self(errno::EACCES as i32);
    /// Bad address.
    pub const EFAULT: Self = Self(errno::EFAULT as i32);
    /// File or mapping exists.
    pub const EEXIST: Self = Self(errno::EEXIST as i32);
    /// Not a directory.
    pub const ENOTDIR: Self = Self(errno::ENOTDIR as i32);
    /// File too large.
    pub const EFBIG: Self = Self(errno::EFBIG as i32);
    /// Too many symbolic links.
    pub const ELOOP: Self = Self(errno::ELOOP as i32);
    /// Invalid argument.
    pub const EINVAL: Self = Self(errno::EINVAL as i32);
    /// Argument list too long.
    pub const E2BIG: Self = Self(errno::E2BIG as i32);
    /// Too many open files.
    pub const EMFILE: Self = Self(errno::EMFILE as i32);
    /// Timed out.
    pub const ETIMEDOUT: Self = Self(errno::ETIMEDOUT as i32);
    /// No such system call.
    pub const ENOSYS: Self = Self(errno::ENOSYS as i32);

    /// The negative value that a failed system call returns.
    #[must_use]
    pub const fn raw(self) -> isize {
        -(self.0 as isize)
    }
}

impl core::fmt::Debug for Errno {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "errno {}", self.0)
    }
}

impl core::fmt::Display for Errno {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match words(self.0) {
            Some(words) => f.write_str(words),
            None => write!(f, "error {}", self.0),
        }
    }
}

/// Result of a system call.
pub type Result<T> = core::result::Result<T, Errno>;

/// Splits the raw result of a system call into value and error.
///
/// # Errors
/// Values from -4095 to -1 are error numbers.
pub fn check(raw: isize) -> Result<usize> {
    if (-4095..0).contains(&raw) {
        Err(Errno(-raw as i32))
    } else {
        Ok(raw as usize)
    }
}
