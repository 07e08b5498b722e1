//! Files mapped for reading.

use crate::errno::Result;
use crate::mem;

/// A file, or a part of one, mapped for reading; unmapped when dropped.
#[derive(Debug)]
pub struct Mapped {
    addr: u64,
    len: u64,
}

impl Mapped {
    /// Maps `len` bytes of descriptor `fd`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(fd: i32, len: u64) -> Result<Self> {
        Self::part(fd, 0, len)
    }

    /// Maps `len` bytes of descriptor `fd` from `off` on, a multiple of the page size.
    ///
    /// # Errors
    /// The kernel's.
    pub fn part(fd: i32, off: u64, len: u64) -> Result<Self> {
        let addr = mem::map_file(len, fd, off)?;
        Ok(Self { addr, len })
    }

    /// The bytes of the file. They change if another process writes to the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped readable for as long as self lives.
        unsafe { core::slice::from_raw_parts(self.addr as *const u8, self.len as usize) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: only `bytes` borrows it, for less than self's life.
        let _ = unsafe { mem::unmap(self.addr, self.len) };
    }
}
