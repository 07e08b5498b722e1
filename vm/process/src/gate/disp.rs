//! Displacements from `gs` as the assembly uses them, each from its definition. `gs` points at the area,
//! which ends the thread's structure.
#![allow(missing_docs, reason = "the names are those of the fields")]

use crate::thread::Thread;
use core::mem::offset_of;
use ppin_abi::area::Area;
use ppin_abi::spills::{SPILL_SLOTS, Spill};
use ppin_abi::thread::BEFORE;

/// From the area to the thread's structure.
pub const THREAD: isize = -(BEFORE as isize);
pub const GPR: isize = THREAD + offset_of!(Thread, regs) as isize;
pub const FLAGS: isize = GPR + 16 * 8;
pub const MXCSR: isize = FLAGS + 8;
/// From the thread's structure, not from `gs`.
pub const XMM: usize = offset_of!(Thread, xmm);
pub const REASON: isize = THREAD + offset_of!(Thread, reason) as isize;
pub const OPERAND: isize = THREAD + offset_of!(Thread, operand) as isize;
pub const TARGET: isize = THREAD + offset_of!(Thread, target) as isize;
pub const VM_SP: isize = THREAD + offset_of!(Thread, vm_sp) as isize;
pub const PENDING: isize = THREAD + offset_of!(Thread, pending) as isize;
pub const ENTERING: isize = THREAD + offset_of!(Thread, entering) as isize;
pub const SPILL_RAX: usize = Spill::Rax.disp() as usize;
pub const SPILL_RCX: usize = Spill::Rcx.disp() as usize;
pub const SPILL_RDX: usize = Spill::Rdx.disp() as usize;
/// The last spill slot: no register lies there while an indirect branch is looked up.
pub const SPILL_FLAGS: usize = Spill::Rax.disp() as usize + 8 * (SPILL_SLOTS - 1);
pub const SYS_REC: usize = scratch_word(scratch::SYS_REC);
pub const SYS_RESUME: usize = scratch_word(scratch::SYS_RESUME);
pub const SYS_NR: usize = scratch_word(scratch::SYS_NR);
pub const SAVED_TARGET: usize = scratch_word(scratch::SAVED_TARGET);
pub const COUNTDOWN: usize = scratch_word(crate::sampling::COUNTDOWN);
/// Where the instruction of the last `cpuid` goes on.
pub const CPUID_BACK: usize = cpuid_word(CPUID_BACK_WORD);
/// Its index in [`Area::cpuid`].
pub const CPUID_BACK_WORD: usize = 0;
pub const CPUID_RAX: usize = cpuid_word(1);
pub const CPUID_RBX: usize = cpuid_word(2);
pub const CPUID_FLAGS: usize = cpuid_word(3);
const _: () = assert!(XMM.is_multiple_of(16));

/// Uses of the scratch words in the thread area, by index.
pub mod scratch {
    /// Address of the `SyscallRec` of the last call through the gate.
    pub const SYS_REC: usize = 0;
    /// Cache address that the last system call returns to.
    pub const SYS_RESUME: usize = 1;
    /// Number of the last system call.
    pub const SYS_NR: usize = 2;
    /// Target of the indirect branch that is looked up.
    pub const SAVED_TARGET: usize = 4;
}

/// Displacement of scratch word `index`.
const fn scratch_word(index: usize) -> usize {
    offset_of!(Area, scratch) + size_of::<u64>() * index
}

/// Displacement of word `index` of [`Area::cpuid`].
const fn cpuid_word(index: usize) -> usize {
    offset_of!(Area, cpuid) + size_of::<u64>() * index
}
