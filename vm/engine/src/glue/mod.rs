//! The assembly between the cache and the VM.
//!
//! Emitted code jumps to the routines of this folder through `gs` with the app's
//! registers in place (but for rcx, see `ppin_abi::record`). Nothing here touches
//! the app's stack. Which stretches may be interrupted where is what
//! [`Place`] tells signal handlers.

mod bridge;
mod cross;
pub mod ibl;
pub mod last_steps;
mod stackless;
pub mod syscall;
pub mod vmcall;

pub use cross::{cross, deliver_trap, enter_first, native_trap, resume_vm};
use ppin_abi::area::{ENTRIES, Entry};
pub use stackless::{clone, sigreturn, unmap_and_exit};

/// What a runtime address means to a signal handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The `syscall` instruction of the gate, not executed or to be restarted.
    GateSyscall,
    /// Behind it: the call is done.
    GateDone,
    /// Runs on to the cache, the gate or the VM by itself: step through.
    Transit,
    /// The delivery trap: the cache was about to be entered, a signal waits.
    DeliveryTrap,
    /// The trap of an instruction that is to run in its own place.
    NativeTrap,
    /// Anything else: the VM.
    Vm,
}

/// Classifies a pc inside the runtime.
#[must_use]
pub fn place(pc: u64) -> Place {
    let within = |start: unsafe extern "C" fn(), end: unsafe extern "C" fn()| {
        (start as usize as u64..end as usize as u64).contains(&pc)
    };
    let at = |f: unsafe extern "C" fn()| pc == f as usize as u64;
    if at(syscall::gate_syscall) {
        Place::GateSyscall
    } else if at(syscall::gate_done) {
        Place::GateDone
    } else if at(cross::deliver_trap) {
        Place::DeliveryTrap
    } else if at(cross::native_trap) {
        Place::NativeTrap
    } else if within(ibl::ibl_start, ibl::ibl_end)
        || within(syscall::gate_start, syscall::gate_end)
        || within(cross::enter_tail, cross::enter_end)
    {
        Place::Transit
    } else {
        Place::Vm
    }
}

/// Whether `pc` lies behind the gate's system call, on the way back to the cache.
#[must_use]
pub fn behind_call(pc: u64) -> bool {
    let address = |f: unsafe extern "C" fn()| f as usize as u64;
    (address(syscall::gate_done)..address(syscall::gate_end)).contains(&pc)
}

/// The table of a thread area.
#[must_use]
pub fn entries() -> [u64; ENTRIES] {
    let mut table = [0; ENTRIES];
    let mut set =
        |entry: Entry, f: unsafe extern "C" fn()| table[entry as usize] = f as usize as u64;
    set(Entry::LeaveExit, cross::leave_exit);
    set(Entry::LeaveTrap, cross::leave_trap);
    set(Entry::Syscall, syscall::gate_start);
    let lookup = if crate::sample::is_on() {
        ibl::ibl_counted
    } else {
        ibl::ibl_start
    };
    set(Entry::IblRet, lookup);
    set(Entry::IblJmp, lookup);
    set(Entry::IblCall, lookup);
    set(Entry::Bridge, bridge::bridge);
    table
}

/// Displacements from `gs` as the assembly uses them, each from its definition.
pub(crate) mod disp {
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
    pub const COUNTDOWN: usize = 0xd0 + 8 * crate::sample::COUNTDOWN;
    const _: () = assert!(XMM.is_multiple_of(16));
}
