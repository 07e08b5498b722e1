//! Routines that must not use the stack they run on: starting a child, returning from a signal
//! through a frame of the VM, and ending a thread whose stack is
//! unmapped, or left to another thread.

use core::sync::atomic::AtomicU32;
use ppin_os::frame::UContext;

unsafe extern "C" {
    /// Makes the call `nr` (clone or clone3); the child starts in
    /// `start` with `child`, on the stack given in the arguments.
    ///
    /// # Safety
    /// The stack is the child's own, all signals are blocked.
    #[link_name = "ppin_clone"]
    pub fn clone(
        nr: u32,
        args: *const usize,
        child: *mut (),
        start: unsafe extern "C" fn(*mut ()) -> !,
    ) -> isize;

    /// Calls rt_sigreturn with `context` as the frame's context.
    ///
    /// # Safety
    /// The context is complete.
    #[link_name = "ppin_sigreturn"]
    pub fn sigreturn(context: *const UContext) -> !;

    /// Unmaps memory (munmap(2)), then ends the thread (exit(2)).
    ///
    /// # Safety
    /// Nobody uses the memory, which may hold the stack.
    #[link_name = "ppin_unmap_and_exit"]
    pub fn unmap_and_exit(base: u64, len: u64, status: i32) -> !;

    /// Sets `gone`, and ends the thread (exit(2)).
    ///
    /// # Safety
    /// From when it is set, others may use the memory that holds the stack. All signals are blocked.
    #[link_name = "ppin_rest_and_exit"]
    pub fn rest_and_exit(gone: *const AtomicU32, status: i32) -> !;
}

core::arch::global_asm!(
    ".text",
    ".globl ppin_clone, ppin_sigreturn, ppin_unmap_and_exit, ppin_rest_and_exit",
    ".hidden ppin_clone",
    ".hidden ppin_sigreturn",
    ".hidden ppin_unmap_and_exit",
    ".hidden ppin_rest_and_exit",
    "ppin_clone:",
    "push r12",
    "push r13",
    "mov r12, rdx",
    "mov r13, rcx",
    "mov eax, edi",
    "mov r11, rsi",
    "mov rdi, [r11]",
    "mov rsi, [r11 + 8]",
    "mov rdx, [r11 + 16]",
    "mov r10, [r11 + 24]",
    "mov r8, [r11 + 32]",
    "mov r9, [r11 + 40]",
    "syscall",
    "test rax, rax",
    "jz 2f",
    "pop r13",
    "pop r12",
    "ret",
    "2:",
    "xor ebp, ebp",
    "mov rdi, r12",
    "and rsp, -16",
    "call r13",
    "ud2",
    // The kernel expects the frame to begin 8 bytes below rsp, and the context 8 bytes after that:
    // so rsp is the context's own address.
    "ppin_sigreturn:",
    "mov rsp, rdi",
    "mov eax, 15",
    "syscall",
    "ud2",
    "ppin_rest_and_exit:",
    "mov dword ptr [rdi], 1",
    "mov edi, esi",
    "mov eax, 60",
    "syscall",
    "ud2",
    "ppin_unmap_and_exit:",
    "mov r12d, edx",
    "mov eax, 11",
    "syscall",
    "mov edi, r12d",
    "mov eax, 60",
    "syscall",
    "ud2",
);
