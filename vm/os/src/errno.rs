//! Error numbers of the kernel (errno(3)).

use ppin_abi::errno::words;

/// A kernel error number (positive).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// Operation not permitted.
    pub const EPERM: Self = Self(1);
    /// No such file or directory.
    pub const ENOENT: Self = Self(2);
    /// No such process.
    pub const ESRCH: Self = Self(3);
    /// Interrupted.
    pub const EINTR: Self = Self(4);
    /// No such device or address.
    pub const ENXIO: Self = Self(6);
    /// Bad file descriptor.
    pub const EBADF: Self = Self(9);
    /// Try again.
    pub const EAGAIN: Self = Self(11);
    /// Out of memory, or of mappings.
    pub const ENOMEM: Self = Self(12);
    /// Permission denied.
    pub const EACCES: Self = Self(13);
    /// Bad address.
    pub const EFAULT: Self = Self(14);
    /// It exists.
    pub const EEXIST: Self = Self(17);
    /// Not a directory.
    pub const ENOTDIR: Self = Self(20);
    /// File too large.
    pub const EFBIG: Self = Self(27);
    /// Too many symbolic links.
    pub const ELOOP: Self = Self(40);
    /// Invalid argument.
    pub const EINVAL: Self = Self(22);
    /// Argument list too long.
    pub const E2BIG: Self = Self(7);
    /// Too many open files.
    pub const EMFILE: Self = Self(24);
    /// Timed out.
    pub const ETIMEDOUT: Self = Self(110);
    /// No such system call.
    pub const ENOSYS: Self = Self(38);

    /// As a system call returns it.
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

/// Splits a raw kernel value into value and error.
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
