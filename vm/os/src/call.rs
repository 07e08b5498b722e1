//! System calls of the runtime itself, each judged by the app's filters first.
//!
//! # Safety
//! A system call can do anything to memory, so [`call`] is unsafe and the wrappers
//! in this crate say what their callers owe.

use crate::errno::{Result, check};
use crate::filter;
use crate::kernel::app_call;
use ppin_seccomp::Action;

/// Executes system call `nr` for the VM and returns the kernel's raw value. A call that the app's
/// filters would refuse is not made: it fails with the error of [`filter::error`].
///
/// # Safety
/// As the system call itself: pointers must be valid for what the kernel does.
pub unsafe fn raw(nr: u32, args: [usize; 6]) -> isize {
    match filter::verdict(nr, &args) {
        // SAFETY: the caller's promise.
        Action::Allow => unsafe { app_call(nr, args) },
        refused => filter::error(refused).raw(),
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
