//! `cpuid`: answers from the table of those that are known ([`crate::cpuid`]). Only the first time
//! the VM is asked, which asks the CPU.
//!
//! The instruction itself is executed here where its answer may change (also with the processor, if the thread
//! runs on another one than that which has answered), and where the app has it
//! fault (arch_prctl(2), `ARCH_CPUID`): then at [`cpuid_itself`], with all of the app's registers in
//! place.
//!
//! Flags are kept in the `lahf; seto al` form. `cpuid` orders memory accesses and what comes behind
//! it; so do the two fences.

use super::disp;
use crate::cpuid::{ANSWERS, CLOSED, State};
use core::mem::offset_of;
use ppin_abi::area::{Area, CPUID_JUMP};
use ppin_os::processor::CPUNODE;

unsafe extern "C" {
    /// Entry: see [`ppin_abi::area::Entry::Cpuid`].
    pub fn cpuid_start();
    /// The `cpuid` instruction.
    pub fn cpuid_itself();
    /// The address after the last instruction.
    pub fn cpuid_end();
}

core::arch::global_asm!(
    ".text",
    ".balign 64",
    ".globl cpuid_start, cpuid_itself, cpuid_end",
    ".hidden cpuid_start", ".hidden cpuid_itself", ".hidden cpuid_end",
    "cpuid_start:",
    "mov gs:[{saved_rax}], rax",
    "mov gs:[{saved_rbx}], rbx",
    "lahf",
    "seto al",
    "mov gs:[{flags}], rax",
    "mov eax, [rip + {closed}]",
    "test eax, eax",
    "jnz 6f",
    "lea rbx, [rip + {answers}]",
    "2:",
    "mov eax, [rbx + {state}]",
    "test eax, eax",                // the end of the table
    "jz 5f",
    "mov eax, gs:[{saved_rax}]",
    "cmp eax, [rbx + {leaf}]",
    "jne 3f",
    "mov eax, gs:[{rcx}]",
    "xor eax, [rbx + {subleaf}]",
    "and eax, [rbx + {mask}]",
    "jz 4f",
    "3:",
    "add rbx, {len}",
    "jmp 2b",
    "4:",
    "mov eax, [rbx + {state}]",
    "cmp eax, {kept}",
    "je 7f",
    "cmp eax, {here}",
    "jne 6f",
    "mov eax, {cpunode}",
    "lsl eax, eax",                 // the processor's number, if ZF is set
    "jnz 6f",
    "cmp eax, [rbx + {subleaf}]",
    "jne 6f",
    "7:",
    "mov rax, gs:[{flags}]",
    "add al, 127",
    "sahf",
    "mfence",
    "lfence",
    "lea rcx, [rcx + {jump}]",
    "mov gs:[{back}], rcx",
    "mov eax, [rbx + {eax}]",
    "mov ecx, [rbx + {ecx}]",
    "mov edx, [rbx + {edx}]",
    "mov ebx, [rbx + {ebx}]",
    "jmp qword ptr gs:[{back}]",
    "5:",
    "mov rax, gs:[{flags}]",
    "add al, 127",
    "sahf",
    "mov rax, gs:[{saved_rax}]",
    "mov rbx, gs:[{saved_rbx}]",
    "jmp leave_cpuid",
    "6:",
    "mov rax, gs:[{flags}]",
    "add al, 127",
    "sahf",
    "lea rcx, [rcx + {jump}]",
    "mov gs:[{back}], rcx",
    "mov rax, gs:[{saved_rax}]",
    "mov rbx, gs:[{saved_rbx}]",
    "mov rcx, gs:[{rcx}]",
    "cpuid_itself:",
    "cpuid",
    "jmp qword ptr gs:[{back}]",
    "cpuid_end:",
    rcx = const disp::SPILL_RCX,
    flags = const disp::CPUID_FLAGS,
    saved_rax = const disp::CPUID_RAX,
    saved_rbx = const disp::CPUID_RBX,
    back = const disp::CPUID_BACK,
    jump = const CPUID_JUMP,
    closed = sym CLOSED,
    answers = sym ANSWERS,
    kept = const State::Kept as u32,
    here = const State::Here as u32,
    cpunode = const CPUNODE,
    len = const size_of::<crate::cpuid::Entry>(),
    leaf = const offset_of!(crate::cpuid::Entry, leaf),
    subleaf = const offset_of!(crate::cpuid::Entry, subleaf),
    mask = const offset_of!(crate::cpuid::Entry, mask),
    state = const offset_of!(crate::cpuid::Entry, state),
    eax = const offset_of!(crate::cpuid::Entry, registers),
    ebx = const offset_of!(crate::cpuid::Entry, registers) + 4,
    ecx = const offset_of!(crate::cpuid::Entry, registers) + 8,
    edx = const offset_of!(crate::cpuid::Entry, registers) + 12,
);

/// Whether `pc` is the instruction that asks for the app.
#[must_use]
pub fn is_itself(pc: u64) -> bool {
    pc == cpuid_itself as *const () as u64
}

/// Cache address of the jump by which the thread has come to [`cpuid_itself`]: what faults there
/// faults in its instruction.
#[must_use]
pub const fn asked_at(area: &Area) -> u64 {
    area.cpuid[disp::CPUID_BACK_WORD].wrapping_sub(CPUID_JUMP)
}
