//! Where a thread is, for a signal.

use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;
use ppin_abi::record::SyscallRec;
use ppin_process::gate::{self, Place};
use ppin_process::thread::Thread;
use ppin_process::translate::{self, Spot};
use ppin_process::vm;

/// Where a thread is, for a signal.
pub(crate) enum Where {
    /// In the cache or at the gate: the app's state is known.
    App(translate::Spot),
    /// In code that must be stepped to a boundary.
    Transit,
    /// In the VM.
    Vm,
}

/// Locates `thread`, whose pc is `pc`.
pub(crate) fn locate(thread: &Thread, pc: u64) -> Where {
    let in_cache = |pc| translate::spot(&vm::lock(), pc);
    if !vm::is_runtime(pc) {
        return match in_cache(pc) {
            Some(spot) => Where::App(spot),
            // Cold code: stubs on their way to the runtime.
            None if vm::lock().code().in_cache(pc) => Where::Transit,
            None => Where::Vm,
        };
    }
    match gate::place(pc) {
        Place::GateSyscall => Where::App(gate_spot(thread, false)),
        Place::GateDone => Where::App(gate_spot(thread, true)),
        Place::DeliveryTrap => match in_cache(thread.entering) {
            Some(spot) => Where::App(spot),
            None => Where::Transit,
        },
        Place::Transit | Place::NativeTrap | Place::RoutineTrap => Where::Transit,
        Place::Vm => Where::Vm,
    }
}

/// App state at the gate: before the system call (or where it is restarted), or after it (`done`).
#[must_use]
pub(crate) fn gate_spot(thread: &Thread, done: bool) -> Spot {
    let record = thread.area.scratch[gate::disp::scratch::SYS_REC];
    // SAFETY: the gate stored the address of the record it was entered with; its
    // code is not freed while the thread is in the gate.
    let rec = unsafe { (record as *const SyscallRec).read() };
    let vm = vm::lock();
    let base = vm.code().base_at(record);
    let code = record.wrapping_add(i64::from(rec.resume) as u64);
    let resume = translate::spot(&vm, code);
    let off = ImageOff(if done { rec.next } else { rec.pc });
    Spot {
        code,
        block_start: done || resume.as_ref().is_some_and(|s| s.block_start),
        context: Context(rec.context),
        // (The call has been counted already; if it is made again, it is counted again.)
        corrections: resume
            .filter(|_| !done)
            .map(|s| s.corrections)
            .unwrap_or_default(),
        ..Spot::at(off.at(base))
    }
}
