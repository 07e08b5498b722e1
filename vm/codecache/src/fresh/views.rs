//! Two views of the memory that fresh code lies in: one that is executed, one that
//! is written to. Nothing in the process is writable and executable at a time, and
//! no descriptor is held.
//!
//! The pages are shared memory, so a forked child would see what its parent writes.
//! Therefore both take the memory for *sealed* at a fork: it is executed where it is
//! and not written to; the first of them that must write moves to a copy of its own
//! ([`Views::writable`]). A child that only executes another program copies nothing.
//!
//! Where two views cannot be had, and for a process that is about to forbid itself the
//! calls that this takes ([`Views::unify`]), the memory is private and both in one:
//! the kernel copies it at a fork.

use core::ops::Range;
use ppin_os::place;
use ppin_os::{Errno, Result, mem, stock};

/// See the module.
#[derive(Debug)]
pub(crate) struct Views {
    /// Address at which it is executed.
    exec: u64,
    len: u64,
    /// Address at which it is written to; `exec` itself if it is private.
    write: u64,
    sealed: bool,
}

impl Views {
    /// Fresh memory that is executed at `exec`.
    ///
    /// # Errors
    /// No memory, or the range is taken (`EEXIST`).
    pub fn at(exec: u64, len: u64) -> Result<Self> {
        match mem::map_shared_at(exec, len, mem::RX).and_then(|_| second(exec, len)) {
            Ok(write) => Ok(Self::new(exec, len, write)),
            Err(Errno::EEXIST) => Err(Errno::EEXIST),
            Err(_) => {
                // SAFETY: mapped just above, if at all: the range was free.
                let _ = unsafe { mem::unmap(exec, len) };
                Self::private_at(exec, len)
            }
        }
    }

    /// The same in one view and by one call, for a process that has given up others.
    ///
    /// # Errors
    /// As [`Self::at`].
    pub fn private_at(exec: u64, len: u64) -> Result<Self> {
        mem::map_anon_at(exec, len, mem::RWX).map(|_| Self::new(exec, len, exec))
    }

    fn new(exec: u64, len: u64, write: u64) -> Self {
        Self {
            exec,
            len,
            write,
            sealed: false,
        }
    }

    /// This process has forked, or is the child.
    pub fn seal(&mut self) {
        // (What is sealed already is not written to: its page may be shared with a forked child.)
        if self.write != self.exec && !self.sealed {
            self.sealed = true;
        }
    }

    /// Whether writing costs a copy.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Where the byte executed at `addr` is written to. `used` are the ranges that
    /// hold code, should it have to be copied.
    ///
    /// # Errors
    /// No memory for the copy.
    pub fn writable(&mut self, addr: u64, used: &[Range<u64>]) -> Result<u64> {
        if self.sealed {
            self.leave(used)?;
        }
        Ok(addr - self.exec + self.write)
    }

    /// Where the bytes executed at `range` are written to, if they are not sealed.
    pub fn written(&self, range: &Range<u64>) -> Range<u64> {
        let at = |addr: u64| addr - self.exec + self.write;
        at(range.start)..at(range.end)
    }

    /// Moves to a copy. Other threads execute the same bytes before and after.
    fn leave(&mut self, used: &[Range<u64>]) -> Result<()> {
        let exec = place::anywhere_shared(self.len, mem::RX)?;
        let write = second(exec, self.len)?;
        copy(used, self.exec, write);
        // SAFETY: only `self` knows the old view for writing; the one for execution is
        // replaced by its equal at once.
        unsafe {
            mem::unmap(self.write, self.len)?;
            mem::remap(exec, self.len, self.len, self.exec)?;
        }
        (self.write, self.sealed) = (write, false);
        stock::put_back();
        Ok(())
    }

    /// Makes it private memory, which needs no calls from here on.
    ///
    /// # Errors
    /// The kernel allows no such memory; nothing has changed then.
    pub fn unify(&mut self, used: &[Range<u64>]) -> Result<()> {
        if self.write == self.exec {
            return Ok(());
        }
        let both = place::anywhere(self.len, mem::RWX)?;
        copy(used, self.exec, both);
        // SAFETY: as in `leave`.
        unsafe {
            mem::unmap(self.write, self.len)?;
            mem::remap(both, self.len, self.len, self.exec)?;
        }
        (self.write, self.sealed) = (self.exec, false);
        Ok(())
    }

    /// Gives the memory back.
    pub fn free(&self) {
        // SAFETY: the owner says that nothing runs there any more.
        unsafe {
            let _ = mem::unmap(self.exec, self.len);
            if self.write != self.exec {
                let _ = mem::unmap(self.write, self.len);
            }
        }
    }
}

/// A second, writable view of the shared memory at `first`, out of the app's way.
fn second(first: u64, len: u64) -> Result<u64> {
    let at = place::anywhere(len, mem::NONE)?;
    // SAFETY: the target was reserved just now; a length of 0 leaves the source mapped
    // (mremap(2)).
    unsafe {
        mem::remap(first, 0, len, at)?;
        mem::protect(at, len, mem::RW)?;
    }
    Ok(at)
}

/// Copies the `used` ranges of the view at `from` to the view at `to`.
fn copy(used: &[Range<u64>], from: u64, to: u64) {
    for range in used {
        let len = (range.end - range.start) as usize;
        let (source, target) = (
            range.start as *const u8,
            (range.start - from + to) as *mut u8,
        );
        // SAFETY: both views are mapped as long as `Views`, and `to` is still unknown
        // to all others.
        unsafe { core::ptr::copy_nonoverlapping(source, target, len) };
    }
}

#[cfg(test)]
mod tests;
