//! Runs one app instruction natively, at its own address.
//!
//! An instruction that cannot be translated (bytes that the decoder does not know, memory that
//! cannot be read or executed, far branches) is executed at its own address, with the trap flag
//! set. It either faults there, exactly as natively, or the trap after it returns to the VM.
//! Meanwhile gs is the app's. If it leads to code that is not 64-bit, that runs natively, too
//! ([`compat`]).

use super::redirect::redirect;
use super::{compat, deliver, origin, step, traps};
use crate::life::leave::natively;
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::context::Context;
use ppin_os::frame::{SigInfo, UContext, greg};
use ppin_os::{c, peek};
use ppin_process::signal::native::Native;
use ppin_process::signal::trap_flag::TRAP_FLAG;
use ppin_process::thread::Thread;
use ppin_process::translate::{self, Spot};
use ppin_process::{gate, vm};
use ppin_translate::changes;

/// Arranges for the instruction at `pc`, whose translation is entered at `entry`, to run natively.
/// Returns the address to go on at.
pub(crate) fn begin(thread: &mut Thread, pc: AppPc, entry: CachePc) -> CachePc {
    thread.signals.native = Native::Approaching;
    thread.signals.native_pc = pc.0;
    thread.signals.native_entry = entry.0;
    CachePc(gate::cross(gate::native_trap))
}

/// Called with all app registers in place: redirects the thread to the instruction.
pub(crate) fn arrive(thread: &mut Thread, context: &mut UContext) {
    thread.signals.native = Native::There;
    thread.signals.stepping = false;
    if thread.signals.leave_at_native {
        natively::hand_over(thread, context, AppPc(thread.signals.native_pc))
    }
    thread.load_app_gs();
    context.gregs[greg::RIP] = thread.signals.native_pc;
    context.gregs[greg::FLAGS] |= TRAP_FLAG;
}

/// Handles a fault or trap while an instruction runs natively; `false` if it has another cause.
pub(crate) fn step(
    thread: &mut Thread,
    signal: u32,
    info: &SigInfo,
    context: &mut UContext,
) -> bool {
    let at = context.gregs[greg::RIP];
    let trapped = traps::ends_step(signal, info, context);
    if thread.signals.native == Native::Approaching {
        // The app's trap flag, or the VM's for a signal, which is delivered later now.
        return trapped && vm::is_runtime(at);
    }
    if stores_to_guarded(signal, info, context) {
        return true;
    }
    if thread.signals.native == Native::Compat {
        compat::step(thread, signal, info, context);
        return true;
    }
    if trapped && at == thread.signals.native_pc && thread.pending == 0 {
        // One iteration of a repeated instruction.
        context.gregs[greg::FLAGS] |= TRAP_FLAG;
        return true;
    }
    if !context.is_64_bit() {
        compat::step(thread, signal, info, context);
        return true;
    }
    thread.save_app_gs();
    thread.signals.native = Native::Off;
    if trapped {
        done(thread, context, AppPc(at));
    } else {
        context.gregs[greg::FLAGS] &= !TRAP_FLAG;
        let at = undo_bad_branch(thread, context).unwrap_or(at);
        fault(thread, info, context, at);
    }
    true
}

/// Whether the instruction has stored to guarded code; it is then executed again.
fn stores_to_guarded(signal: u32, info: &SigInfo, context: &UContext) -> bool {
    const WRITE: u64 = 2;
    const KEY: u64 = 32;
    let stores = signal == c::SIGSEGV && context.gregs[greg::ERR] & (WRITE | KEY) == WRITE;
    stores && changes::store(&mut vm::lock(), info.rest[0], context.gregs[greg::RIP])
}

/// Called when the instruction has been executed, and leads to `at`.
pub(crate) fn done(thread: &mut Thread, context: &mut UContext, at: AppPc) {
    let due = thread.signals.trap_flag.on;
    if loads_flags(thread.signals.native_pc) {
        thread.signals.trap_flag.on = context.gregs[greg::FLAGS] & TRAP_FLAG != 0;
    }
    if due {
        step::trap(thread, context, &Spot::at(at));
    } else {
        redirect(thread, context, at, Context::CANONICAL);
    }
}

/// Whether the instruction at `pc` is `iret`. (`popf` is translated.)
pub(crate) fn loads_flags(pc: u64) -> bool {
    const IRET: u8 = 0xcf;
    let prefix = |byte: &&u8| matches!(byte, 0x40..=0x4f | 0x66);
    let bytes = peek::read_value::<[u8; 4]>(pc).unwrap_or_default();
    bytes.iter().find(|byte| !prefix(byte)) == Some(&IRET)
}

/// Handles a fault at an address that is not canonical. The app's branch to it is at fault; the
/// context becomes the state before the branch. If a signal handler or a return from one was aimed
/// there, the kernel has jumped, and the target is the pc.
fn undo_bad_branch(thread: &Thread, context: &mut UContext) -> Option<u64> {
    const GENERAL_PROTECTION: u64 = 13;
    let target = thread.signals.native_pc;
    let nothing = peek::read_value::<u8>(target).is_none();
    if context.gregs[greg::TRAPNO] != GENERAL_PROTECTION || !nothing {
        return None;
    }
    branch_to(thread, context, target)
}

/// Sets `context` to the state before the branch that led to `target`.
fn branch_to(thread: &Thread, context: &mut UContext, target: u64) -> Option<u64> {
    /// The flag that the CPU sets in the flags of a fault (SDM volume 3, 18.3.1.1).
    const RESUME_FLAG: u64 = 1 << 16;
    let departure = &thread.signals.departure;
    if departure.target != target {
        return None;
    }
    let (pc, before) = origin::find(departure, &greg::BY_NUMBER.map(|r| context.gregs[r]))?;
    for (register, value) in greg::BY_NUMBER.into_iter().zip(before) {
        context.gregs[register] = value;
    }
    context.gregs[greg::FLAGS] |= RESUME_FLAG;
    Some(pc.0)
}

/// Delivers a fault of the instruction. All state but the counters is the app's already.
fn fault(thread: &mut Thread, info: &SigInfo, context: &mut UContext, at: u64) {
    let spot = translate::spot_at_trap(&vm::lock(), thread.signals.native_entry, AppPc(at));
    deliver::deliver(thread, context, info, &spot, true);
}
