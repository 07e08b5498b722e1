//! The system call gate: most calls are executed here, with the app's registers in place, so that
//! the kernel sees (and restarts) the same call as natively. A table by number says which calls
//! enter the VM instead.
//!
//! App rcx and r11 are dead at a system call, but the app's flags must survive, so the table is
//! read without arithmetic. Its index is the low 16 bits of eax: numbers with the x32 bit use the
//! entries of the numbers without it.

use super::disp;

unsafe extern "C" {
    /// Entry: rcx = `SyscallRec`.
    pub fn gate_start();
    /// The `syscall` instruction.
    pub fn gate_syscall();
    /// The address after the `syscall` instruction.
    pub fn gate_done();
    /// The address after the last instruction.
    pub fn gate_end();
}

core::arch::global_asm!(
    ".text",
    ".balign 64",
    ".globl gate_start, gate_syscall, gate_done, gate_end",
    ".hidden gate_start", ".hidden gate_syscall", ".hidden gate_done", ".hidden gate_end",
    "gate_start:",
    "mov gs:[{rec}], rcx",
    "movsxd r11, dword ptr [rcx + 8]",      // SyscallRec::resume
    "lea r11, [rcx + r11]",
    "mov gs:[{resume}], r11",
    "mov gs:[{nr}], rax",
    "lea r11, [rip + {slow}]",
    "movzx ecx, ax",
    "movzx ecx, byte ptr [r11 + rcx]",
    "jrcxz gate_syscall",
    "jmp leave_syscall",
    "gate_syscall:",
    "syscall",
    "gate_done:",
    // The kernel cannot write to code pages that the VM guards, so the VM looks at every -EFAULT.
    "lea rcx, [rax + 14]",
    "jrcxz 2f",
    "jmp qword ptr gs:[{resume}]",
    "2:",
    "jmp leave_after_call",
    "gate_end:",
    rec = const disp::SYS_REC,
    nr = const disp::SYS_NR,
    resume = const disp::SYS_RESUME,
    slow = sym super::table::SLOW,
);
