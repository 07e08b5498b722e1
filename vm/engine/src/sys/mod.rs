//! Raw system calls of the runtime: the only way out of the process. No libc, no
//! errno: results are `Result<usize, Errno>`.
//!
//! # Safety
//! A system call can do anything to memory, so [`call`] is unsafe and the wrappers
//! in this folder say what their callers owe.

pub mod auxv;
pub mod descriptor;
pub mod dir;
pub mod file;
pub mod mapped;
pub mod mem;
pub mod peek;
pub mod proc;
pub mod spare;
pub mod time;

pub use linux_raw_sys::general as c;
use ppin_seccomp::Action;

/// A kernel error number (positive).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl core::fmt::Debug for Errno {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "errno {}", self.0)
    }
}

impl core::fmt::Display for Errno {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match ppin_abi::errno::words(self.0) {
            Some(words) => f.write_str(words),
            None => write!(f, "error {}", self.0),
        }
    }
}

/// Result of a system call.
pub type Result<T> = core::result::Result<T, Errno>;

/// Executes system call `nr` for the VM and returns the kernel's raw value. What the
/// app's filters would not let through fails without being made.
///
/// # Safety
/// As the system call itself: pointers must be valid for what the kernel does.
pub unsafe fn raw(nr: u32, args: [usize; 6]) -> isize {
    match crate::confine::own::verdict(nr, &args) {
        // SAFETY: the caller's promise.
        Action::Allow => unsafe { come_what_may(nr, args) },
        refused => -(crate::confine::own::error(refused).0 as isize),
    }
}

/// The same without asking: for calls that are the app's.
///
/// # Safety
/// As [`raw`].
pub unsafe fn come_what_may(nr: u32, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the caller answers for the call; the clobbers are those of `syscall`.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") nr as isize => result,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
            in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

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
