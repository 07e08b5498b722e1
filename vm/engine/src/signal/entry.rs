//! Entry of the VM's signal handler and return from it, in assembly.
//!
//! Signals with the numbers of faults are never blocked, and can come while the handler runs. They are pending then,
//! and dealt with when it is done with its frame ([`handler::meanwhile`]). The restorer has the last look; a signal
//! that comes behind that makes it look once more ([`super::again`]).

use super::again::{address, restorer};
use super::handler;
use core::mem::offset_of;
use ppin_os::frame::UContext;
use ppin_process::signal::by_hand::BY_HAND;
use ppin_process::signal::state::SignalState;
use ppin_process::thread::{SIGNAL_STACK, Thread};

unsafe extern "C" {
    /// The handler that the kernel calls.
    fn signal_entry();
}

core::arch::global_asm!(
    ".text",
    // The kernel leaves the app's AC flag set, under which compiled code may fault.
    ".globl signal_entry",
    ".hidden signal_entry",
    "signal_entry:",
    "pushfq",
    "and dword ptr [rsp], 0xfffbffff",
    "popfq",
    "jmp {handler}",
    ".globl restorer, restorer_by_hand, restorer_iretq, restorer_end",
    ".hidden restorer, restorer_by_hand, restorer_iretq, restorer_end",
    "restorer:",
    "mov rdi, [rsp + {stack}]",
    "add rdi, {thread}",
    "cmp byte ptr [rdi + {came}], 0",
    "je 1f",
    // (A handler that has interrupted another one leaves it to that.)
    "mov rax, [rsp + {gregs} + 15 * 8]",
    "sub rax, [rsp + {stack}]",
    "cmp rax, {thread}",
    "jae 2f",
    "1:",
    "cmp byte ptr [rip + {by_hand}], 0",
    "jne 3f",
    "mov eax, 15",
    "syscall",
    "ud2",
    // Without rt_sigreturn: rsp is the context's address. First the vector state is restored, as
    // the kernel has saved it (the magic number says that it is an XSAVE area). Then a frame for
    // iretq is pushed, and the registers are loaded.
    "3:",
    "mov rbp, rsp",
    "restorer_by_hand:",
    "mov rdi, [rbp + {fpstate}]",
    "test rdi, rdi",
    "jz 5f",
    "cmp dword ptr [rdi + 464], 0x46505853",
    "jne 4f",
    "mov eax, [rdi + 472]",
    "mov edx, [rdi + 476]",
    "xrstor64 [rdi]",
    "jmp 5f",
    "4:",
    "fxrstor64 [rdi]",
    "5:",
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
    "restorer_iretq:",
    "iretq",
    "restorer_end:",
    // (The kernel aligns the context as a stack must be for a call.)
    "2:",
    "mov rbx, rsp",
    "mov rsi, rsp",
    "call {meanwhile}",
    "mov rsp, rbx",
    "jmp restorer",
    handler = sym handler::on_signal,
    meanwhile = sym handler::meanwhile,
    stack = const offset_of!(UContext, stack),
    thread = const SIGNAL_STACK,
    came = const offset_of!(Thread, signals) + offset_of!(SignalState, came_meanwhile),
    by_hand = sym BY_HAND,
    fpstate = const offset_of!(UContext, fpstate),
    gregs = const offset_of!(UContext, gregs),
);

/// Addresses of the handler and of what it returns to.
#[must_use]
pub(crate) fn addresses() -> [u64; 2] {
    [signal_entry, restorer].map(address)
}
