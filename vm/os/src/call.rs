//! System calls of the runtime itself, each permitted by the app's filters first.
//!
//! # Safety
//! A system call can do anything to memory, so [`call`] is unsafe and the wrappers
//! in this crate say what their callers owe.

use crate::errno::{Result, check};
use crate::kernel::Kernel;

/// Executes system call `nr` for the VM and returns the kernel's raw value. A call that the app's
/// filters would refuse is not made: it fails with the error of [`Kernel::permit`].
///
/// # Safety
/// As the system call itself: pointers must be valid for what the kernel does.
pub unsafe fn raw(nr: u32, args: [usize; 6]) -> isize {
    match Kernel::of_this_thread().permit(nr, args) {
        // SAFETY: the caller's promise.
        Ok(permit) => unsafe { permit.execute() },
        Err(refused) => refused.raw(),
    }
}

/// Executes system call `nr`.
///
/// # Safety
/// As [`raw`].
///
/// # Errors
/// The kernel's.
pub unsafe fn call(nr: u32, args: [usize; 6]) -> Result<usize> {
    // SAFETY: the caller's promise.
    check(unsafe { raw(nr, args) })
}
