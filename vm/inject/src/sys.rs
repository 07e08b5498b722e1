//! System calls without libc.
//!
//! # Safety
//!
//! The kernel believes what it is told, so [`Kernel::call`] is unsafe: the caller
//! vouches for every pointer among the arguments and for what the call does to
//! the process.
#![allow(unsafe_code)]

use core::arch::asm;
use core::sync::atomic::AtomicU32;
use linux_raw_sys::general;

pub use linux_raw_sys::errno;
/// Numbers of system calls, as `nr::__NR_close`.
pub use linux_raw_sys::general as nr;

/// Error number of a failed system call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub i32);

/// Arguments of a system call, in order.
pub type Args = [usize; 6];

/// Splits a raw result into value and error.
pub fn check(raw: isize) -> Result<usize, Errno> {
    match raw {
        -4095..=-1 => Err(Errno(-raw as i32)),
        _ => Ok(raw as usize),
    }
}

/// Executes system calls: the CPU, or a recorder in tests.
pub trait Kernel {
    /// Executes system call `number`.
    ///
    /// # Safety
    /// See the module.
    unsafe fn call(&mut self, number: u32, args: Args) -> isize;

    /// Creates a child in the same memory that runs `entry(argument)` on the stack
    /// that ends at `stack_top`, with `tid` cleared and woken at its end. Returns
    /// its id to the parent.
    ///
    /// # Safety
    /// The stack and everything the child uses outlive it; `entry` never returns.
    unsafe fn spawn(&mut self, child: &Child) -> isize;

    /// Executes system call `number` while `word` says that H watches, else returns
    /// [`crate::guarded::NOT_EXECUTED`].
    ///
    /// # Safety
    /// As for [`Kernel::call`].
    unsafe fn exec(&mut self, word: &AtomicU32, number: u32, args: &Args) -> isize;
}

/// Arguments of [`Kernel::spawn`].
#[derive(Debug)]
pub struct Child {
    /// First function.
    pub entry: unsafe extern "C" fn(*mut u8) -> !,
    /// Its argument.
    pub argument: *mut u8,
    /// End of its stack, 16-byte aligned.
    pub stack_top: *mut u8,
    /// Zeroed and woken by the kernel when the child is gone.
    pub tid: *const AtomicU32,
}

/// One system call.
///
/// # Safety
/// See the module.
pub unsafe fn syscall(number: u32, [a, b, c, d, e, f]: Args) -> isize {
    let result: isize;
    // SAFETY: `syscall` clobbers rcx and r11 and nothing else; memory effects are
    // the caller's responsibility and not hidden from the compiler.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as usize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Ends the calling task; for H this is the whole process.
pub fn exit(status: i32) -> ! {
    loop {
        // SAFETY: exit_group touches no memory and does not return.
        unsafe { syscall(general::__NR_exit_group, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Closes descriptor `fd`, which is ours.
pub fn close(fd: i32) {
    // SAFETY: the descriptor is not used afterwards.
    unsafe { syscall(general::__NR_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

/// Writes `text` to descriptor 2 as far as it goes.
pub fn complain(text: &[u8]) {
    // SAFETY: the kernel reads `text`, which is alive.
    unsafe {
        syscall(
            general::__NR_write,
            [2, text.as_ptr() as usize, text.len(), 0, 0, 0],
        );
    }
}

/// Whether the file at `path` carries capabilities.
#[must_use]
pub fn has_capabilities(path: &core::ffi::CStr) -> bool {
    let name = c"security.capability";
    let args = [path.as_ptr() as usize, name.as_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: two strings to read; with no buffer, nothing is written.
    check(unsafe { syscall(general::__NR_getxattr, args) }).is_ok_and(|length| length > 0)
}

/// Whether a process may become any user and any group as it is, and trace who has: to root as
/// it usually is, no program gives a right that it has not. `capget` makes that call (capget(2)).
#[must_use]
pub fn may_become_anybody(capget: impl FnOnce(u32, Args) -> isize) -> bool {
    /// `CAP_DAC_OVERRIDE`, `CAP_SETGID`, `CAP_SETUID`, `CAP_SYS_PTRACE`.
    const NEEDED: u32 = 1 << 1 | 1 << 6 | 1 << 7 | 1 << 19;
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    // Effective, permitted and inheritable, for 32 capabilities each.
    let mut sets = [[0_u32; 3]; 2];
    let places = [header.as_ptr() as usize, sets.as_mut_ptr() as usize];
    let got = capget(general::__NR_capget, [places[0], places[1], 0, 0, 0, 0]);
    got == 0 && sets[0][0] & NEEDED == NEEDED
}

/// The same of this process, which is under no filter of system calls.
#[must_use]
pub fn this_may_become_anybody() -> bool {
    // SAFETY: the kernel reads and writes what was made for it.
    may_become_anybody(|number, args| unsafe { syscall(number, args) })
}
