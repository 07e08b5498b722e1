//! Return from the VM's signal handler, in assembly.

use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, Ordering};
use ppin_os::frame::UContext;

unsafe extern "C" {
    /// `sa_restorer` of the VM's signal handler.
    pub fn restorer();
}

core::arch::global_asm!(
    ".text",
    ".globl restorer",
    ".hidden restorer",
    "restorer:",
    "cmp byte ptr [rip + {by_hand}], 0",
    "jne 2f",
    "mov eax, 15",
    "syscall",
    "ud2",
    // Without rt_sigreturn: rsp is the context's address. First the vector state is restored, as
    // the kernel has saved it (the magic number says that it is an XSAVE area). Then a frame for
    // iretq is pushed, and the registers are loaded.
    "2:",
    "mov rbp, rsp",
    "mov rdi, [rbp + {fpstate}]",
    "test rdi, rdi",
    "jz 4f",
    "cmp dword ptr [rdi + 464], 0x46505853",
    "jne 3f",
    "mov eax, [rdi + 472]",
    "mov edx, [rdi + 476]",
    "xrstor64 [rdi]",
    "jmp 4f",
    "3:",
    "fxrstor64 [rdi]",
    "4:",
    "push 0x2b",
    "push qword ptr [rbp + {gregs} + 15 * 8]",
    "push qword ptr [rbp + {gregs} + 17 * 8]",
    "push 0x33",
    "push qword ptr [rbp + {gregs} + 16 * 8]",
    "mov r8, [rbp + {gregs}]",
    "mov r9, [rbp + {gregs} + 1 * 8]",
    "mov r10, [rbp + {gregs} + 2 * 8]",
    "mov r11, [rbp + {gregs} + 3 * 8]",
    "mov r12, [rbp + {gregs} + 4 * 8]",
    "mov r13, [rbp + {gregs} + 5 * 8]",
    "mov r14, [rbp + {gregs} + 6 * 8]",
    "mov r15, [rbp + {gregs} + 7 * 8]",
    "mov rdi, [rbp + {gregs} + 8 * 8]",
    "mov rsi, [rbp + {gregs} + 9 * 8]",
    "mov rbx, [rbp + {gregs} + 11 * 8]",
    "mov rdx, [rbp + {gregs} + 12 * 8]",
    "mov rax, [rbp + {gregs} + 13 * 8]",
    "mov rcx, [rbp + {gregs} + 14 * 8]",
    "mov rbp, [rbp + {gregs} + 10 * 8]",
    "iretq",
    by_hand = sym BY_HAND,
    fpstate = const offset_of!(UContext, fpstate),
    gregs = const offset_of!(UContext, gregs),
);

/// The app's filters forbid rt_sigreturn. The restorer then restores all but the mask itself:
/// signals stay blocked as they were for the handler.
static BY_HAND: AtomicBool = AtomicBool::new(false);

/// Sets whether handlers return without rt_sigreturn; returns whether that is a change.
pub fn return_by_hand(by_hand: bool) -> bool {
    BY_HAND.swap(by_hand, Ordering::Relaxed) != by_hand
}

/// Whether handlers return without rt_sigreturn.
#[must_use]
pub fn returns_by_hand() -> bool {
    BY_HAND.load(Ordering::Relaxed)
}
