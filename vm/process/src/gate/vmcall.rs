//! System calls that the VM makes for the app. If a filter's verdict on one of them is a signal,
//! the app gets it; a signal for any other call of the VM is hidden from the app ([`is_the_apps`]).
//!
//! Some of these calls may sleep. A signal that arrives between the check of `pending` and the
//! `syscall` instruction would be lost until the call returns. So the signal handler moves a pc in
//! that window to the abort exit. This is the restart window of calls made from the VM.

use super::disp;
use crate::thread::Thread;

/// The call was not made, or is to be restarted, because a signal is pending.
pub const ABORTED: isize = -512;

unsafe extern "C" {
    fn vmcall_enter(nr: u64, args: *const usize, thread: *const ()) -> isize;
    fn vmcall_check();
    fn vmcall_done();
    fn vmcall_abort();
    fn vmcall_plain(nr: u64, args: *const usize) -> isize;
    fn vmcall_plain_done();
}

core::arch::global_asm!(
    ".text",
    ".globl vmcall_enter, vmcall_check, vmcall_done, vmcall_abort",
    ".hidden vmcall_enter", ".hidden vmcall_check", ".hidden vmcall_done", ".hidden vmcall_abort",
    ".globl vmcall_plain, vmcall_plain_done",
    ".hidden vmcall_plain", ".hidden vmcall_plain_done",
    ".macro vmcall_load",
    "mov rax, rdi",
    "mov r11, rsi",
    "mov rdi, [r11]",
    "mov rsi, [r11 + 8]",
    "mov rdx, [r11 + 16]",
    "mov r10, [r11 + 24]",
    "mov r8, [r11 + 32]",
    "mov r9, [r11 + 40]",
    ".endm",
    "vmcall_plain:",
    "vmcall_load",
    "syscall",
    "vmcall_plain_done:",
    "ret",
    "vmcall_enter:",
    "vmcall_load",
    "vmcall_check:",
    "cmp qword ptr gs:[{pending}], 0",
    "jne vmcall_abort",
    "syscall",
    "vmcall_done:",
    "ret",
    "vmcall_abort:",
    "mov rax, -512",
    "ret",
    pending = const disp::PENDING,
);

/// Where execution goes on after a signal at `pc`, if `pc` lies in the restart window.
#[must_use]
pub fn abort(pc: u64) -> Option<u64> {
    let address = |f: unsafe extern "C" fn()| f as usize as u64;
    (address(vmcall_check)..address(vmcall_done))
        .contains(&pc)
        .then(|| address(vmcall_abort))
}

/// Whether the call that returns to `pc` was made for the app.
#[must_use]
pub fn is_the_apps(pc: u64) -> bool {
    let at = |f: unsafe extern "C" fn()| pc == f as usize as u64;
    at(vmcall_done) || at(vmcall_plain_done)
}

/// Makes a call that does not sleep.
///
/// # Safety
/// As the call itself.
pub unsafe fn plain(nr: u32, args: &[usize; 6]) -> isize {
    // SAFETY: the caller's promise.
    unsafe { vmcall_plain(u64::from(nr), args.as_ptr()) }
}

/// Makes the call, or returns [`ABORTED`] if a signal is pending.
///
/// # Safety
/// As the call itself; the VM lock must not be held.
pub unsafe fn interruptible(thread: &Thread, nr: u32, args: &[usize; 6]) -> isize {
    // SAFETY: the caller's promise; the area is this thread's.
    unsafe {
        vmcall_enter(
            u64::from(nr),
            args.as_ptr(),
            core::ptr::from_ref(thread).cast(),
        )
    }
}
