//! Classifies runtime addresses for signal handlers.

use super::{cpuid, cross, ibl, landings, ret, syscall};

/// What a runtime address means to a signal handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The `syscall` instruction of the gate, not executed or to be restarted.
    GateSyscall,
    /// After the `syscall` instruction of the gate: the call has been made.
    GateDone,
    /// Assembly on its way to the cache, the gate or the VM: single-step through it.
    Transit,
    /// The delivery trap: the VM was about to enter the cache, and a signal is pending.
    DeliveryTrap,
    /// The trap before an app instruction that is to run natively, at its own address.
    NativeTrap,
    /// The trap that a routine returns to when a signal has arrived in it.
    RoutineTrap,
    /// All other addresses: the VM.
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
    } else if at(cross::routine_trap) {
        Place::RoutineTrap
    } else if within(ibl::ibl_start, ibl::ibl_end)
        || within(landings::landings_start, landings::landings_end)
        || within(cpuid::cpuid_start, cpuid::cpuid_end)
        || within(ret::ret_unpaired, ret::ret_end)
        || within(syscall::gate_start, syscall::gate_end)
        || within(cross::enter_tail, cross::enter_end)
    {
        Place::Transit
    } else {
        Place::Vm
    }
}

/// Whether `pc` lies after the gate's system call, on the way back to the cache.
#[must_use]
pub fn behind_call(pc: u64) -> bool {
    let address = |f: unsafe extern "C" fn()| f as usize as u64;
    (address(syscall::gate_done)..address(syscall::gate_end)).contains(&pc)
}
