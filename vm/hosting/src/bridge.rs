//! The bridge from instrumented code to analysis routines, in assembly.
//!
//! The bridge saves the registers that the System V ABI lets a routine clobber, and every general
//! register besides, because the arguments are computed from them.

use ppin_abi::area::Entry;
use ppin_process::gate::disp;

unsafe extern "C" {
    /// Entry: rcx = `CallRec`, app rcx spilled.
    fn bridge();
}

core::arch::global_asm!(
    ".text",
    ".balign 64",
    ".globl bridge",
    ".hidden bridge",
    "bridge:",
    "mov gs:[{operand}], rcx",
    "mov rcx, gs:[{spill_rcx}]",
    "mov gs:[{gpr} + 0], rax",
    "mov gs:[{gpr} + 8], rcx",
    "mov gs:[{gpr} + 16], rdx",
    "mov gs:[{gpr} + 24], rbx",
    "mov gs:[{gpr} + 32], rsp",
    "mov gs:[{gpr} + 40], rbp",
    "mov gs:[{gpr} + 48], rsi",
    "mov gs:[{gpr} + 56], rdi",
    "mov gs:[{gpr} + 64], r8",
    "mov gs:[{gpr} + 72], r9",
    "mov gs:[{gpr} + 80], r10",
    "mov gs:[{gpr} + 88], r11",
    "mov gs:[{gpr} + 96], r12",
    "mov gs:[{gpr} + 104], r13",
    "mov gs:[{gpr} + 112], r14",
    "mov gs:[{gpr} + 120], r15",
    "mov rsp, gs:[{vm_sp}]",
    "pushfq",
    "pop rax",
    "mov gs:[{flags}], rax",
    "cld",
    "test eax, 0x40000",            // AC (TF stays: the thread may be stepped)
    "jz 2f",
    "and eax, 0xfffbffff",
    "push rax",
    "popfq",
    "2:",
    "stmxcsr gs:[{mxcsr}]",
    "mov rdi, gs:[0]",
    "lea rdi, [rdi + {thread}]",
    "movaps [rdi + {xmm} + 0], xmm0",
    "movaps [rdi + {xmm} + 16], xmm1",
    "movaps [rdi + {xmm} + 32], xmm2",
    "movaps [rdi + {xmm} + 48], xmm3",
    "movaps [rdi + {xmm} + 64], xmm4",
    "movaps [rdi + {xmm} + 80], xmm5",
    "movaps [rdi + {xmm} + 96], xmm6",
    "movaps [rdi + {xmm} + 112], xmm7",
    "movaps [rdi + {xmm} + 128], xmm8",
    "movaps [rdi + {xmm} + 144], xmm9",
    "movaps [rdi + {xmm} + 160], xmm10",
    "movaps [rdi + {xmm} + 176], xmm11",
    "movaps [rdi + {xmm} + 192], xmm12",
    "movaps [rdi + {xmm} + 208], xmm13",
    "movaps [rdi + {xmm} + 224], xmm14",
    "movaps [rdi + {xmm} + 240], xmm15",
    "call qword ptr gs:[{analysis}]", // rax = where emitted code goes on
    "jmp enter_cache",
    operand = const disp::OPERAND,
    spill_rcx = const disp::SPILL_RCX,
    thread = const disp::THREAD,
    gpr = const disp::GPR,
    flags = const disp::FLAGS,
    mxcsr = const disp::MXCSR,
    xmm = const disp::XMM,
    vm_sp = const disp::VM_SP,
    analysis = const Entry::Analysis.disp(),
);

/// Address of the bridge.
#[must_use]
pub fn address() -> u64 {
    bridge as *const () as usize as u64
}
