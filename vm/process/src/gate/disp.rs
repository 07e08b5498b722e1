//! Displacements from `gs` as the assembly uses them, each from its definition.
#![allow(missing_docs, reason = "the names are those of the fields")]

use crate::thread::Thread;
use core::mem::offset_of;
pub const GPR: usize = offset_of!(Thread, regs);
pub const FLAGS: usize = GPR + 16 * 8;
pub const MXCSR: usize = FLAGS + 8;
pub const XMM: usize = offset_of!(Thread, xmm);
pub const REASON: usize = offset_of!(Thread, reason);
pub const OPERAND: usize = offset_of!(Thread, operand);
pub const TARGET: usize = offset_of!(Thread, target);
pub const VM_SP: usize = offset_of!(Thread, vm_sp);
pub const PENDING: usize = offset_of!(Thread, pending);
pub const ENTERING: usize = offset_of!(Thread, entering);
pub const SPILL_RAX: usize = 0x08;
pub const SPILL_RCX: usize = 0x10;
pub const SPILL_RDX: usize = 0x18;
pub const SPILL_FLAGS: usize = 0x40;
pub const SYS_REC: usize = 0xd0;
pub const SYS_RESUME: usize = 0xd8;
pub const SYS_NR: usize = 0xe0;
pub const SAVED_TARGET: usize = 0xf0;
pub const COUNTDOWN: usize = 0xd0 + 8 * crate::sampling::COUNTDOWN;
const _: () = assert!(XMM.is_multiple_of(16));
