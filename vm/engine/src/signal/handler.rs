//! The one handler that the kernel knows, and its decision.

use super::redirect::redirect;
use super::waiting::deliver_waiting;
use super::whereabouts::{Where, gate_spot, locate};
use super::{deliver, fatal, native, step};
use crate::check::sample;
use crate::life::leave;
use ppin_abi::boot::flag;
use ppin_os::frame::{SigInfo, UContext, greg};
use ppin_os::{Errno, c, peek};
use ppin_process::gate::{self, Place, vmcall};
use ppin_process::signal::native::Native;
use ppin_process::signal::trap_flag::TRAP_TRACE;
use ppin_process::signal::{FAULTS, HOLD_ALL, bit};
use ppin_process::thread::Thread;
use ppin_process::{translate, vm};
use ppin_translate::{changes, sequence};

/// `si_code` of what the kernel forces upon a thread.
const SI_KERNEL: i32 = 0x80;

/// Reached from `signal_entry`, on our signal stack.
///
/// # Safety
/// Called by the kernel alone, with a frame of its own.
pub(crate) unsafe extern "C" fn on_signal(signal: i32, info: *mut SigInfo, context: *mut UContext) {
    // SAFETY: the kernel's frame.
    let (info, context) = unsafe { (&mut *info, &mut *context) };
    // Not by way of gs, which the app may have (see `thread::segment`).
    // SAFETY: the thread adopted its signal stack before it unblocked signals.
    let thread = unsafe { ppin_process::thread::of_signal_stack(context.stack[0]) };
    let signal = signal as u32;
    if sample::in_copy() {
        return sample::on_signal(thread, signal, info, context);
    }
    let fault = FAULTS & bit(signal) != 0 && info.code > 0;
    if leave::is_request(info) {
        thread.signals.leave_requested = true;
        if thread.pending != 0 {
            // It comes with the signal that waits.
            return;
        }
    }
    if fault {
        on_fault(thread, signal, info, context)
    } else {
        on_async(thread, info, context)
    }
}

/// A signal that has nothing to do with the instruction at hand.
fn on_async(thread: &mut Thread, info: &SigInfo, context: &mut UContext) {
    let pc = context.gregs[greg::RIP];
    if thread.signals.native == Native::Compat {
        // Its next step is a boundary.
        return wait(thread, info, context);
    }
    if info.signo as u32 == c::SIGTRAP && own_trap(pc) {
        // The two do not queue: the kernel has dropped the trap for the signal.
        wait(thread, info, context);
        return on_own_trap(thread, context, pc);
    }
    match locate(thread, pc) {
        Where::App(spot) if may_stop_at(thread, &spot) => {
            deliver::deliver(thread, context, info, &spot, false)
        }
        Where::App(_) | Where::Transit => {
            wait(thread, info, context);
            step::begin(thread, context);
        }
        Where::Vm if refused_call(info, pc) => {
            context.gregs[greg::RAX] = Errno::ENOSYS.raw() as u64;
        }
        Where::Vm => {
            wait(thread, info, context);
            thread
                .signals
                .returning
                .hold(context.gregs[greg::RSP], delivery_trap());
            if let Some(abort) = vmcall::abort(pc).or_else(|| peek::abort(pc)) {
                context.gregs[greg::RIP] = abort;
            }
        }
    }
}

/// Whether a signal can be delivered at `spot`. Behind counting it should be: the instruction
/// may wait for its page (userfaultfd(2)), and steps over it would wait as long. Not where
/// boundaries are counted themselves.
fn may_stop_at(thread: &Thread, spot: &translate::Spot) -> bool {
    let lockstep = || vm::lock().config.flags & flag::LOCKSTEP != 0;
    let stepped = || thread.signals.trap_flag.traps() || lockstep();
    spot.boundary || spot.repeatable && !stepped()
}

/// The app's filter has trapped a system call that the VM makes for itself: the app
/// does not hear of it, and the VM does without.
fn refused_call(info: &SigInfo, pc: u64) -> bool {
    info.is_from_filter() && !vmcall::is_the_apps(pc)
}

/// Keeps the signal until a boundary; the kernel holds back the next ones, but for those
/// with the numbers of faults, which are held here.
fn wait(thread: &mut Thread, info: &SigInfo, context: &mut UContext) {
    if thread.pending == 0 {
        thread.signals.waiting = *info;
        thread.pending = 1;
    } else {
        thread.signals.held.put(info);
    }
    context.sigmask = HOLD_ALL;
}

/// A fault, or one of our own traps.
fn on_fault(thread: &mut Thread, signal: u32, info: &SigInfo, context: &mut UContext) {
    let pc = context.gregs[greg::RIP];
    if signal != c::SIGTRAP && goes_round(thread, signal) {
        return fatal::crash(thread, signal, info, context);
    }
    if let Some(resume) = peek::fixup(pc) {
        context.gregs[greg::RIP] = resume;
        return;
    }
    if signal == c::SIGTRAP && own_trap(pc) {
        return on_own_trap(thread, context, pc);
    }
    if vm::is_runtime(pc) && stack_segment_is_gone(signal, info, context) {
        context.enter_64_bit();
        return on_async(thread, info, context);
    }
    if info.code == SI_KERNEL && gate::place(pc) == Place::GateDone {
        // The kernel's answer to the app's call, such as `uretprobe` out of place.
        let spot = gate_spot(thread, true);
        return deliver::deliver(thread, context, info, &spot, true);
    }
    if thread.signals.native != Native::Off && native::step(thread, signal, info, context) {
        return;
    }
    if signal == c::SIGTRAP && info.code == TRAP_TRACE {
        return step::stepped(thread, context);
    }
    if vm::is_runtime(pc) && gate::place(pc) == Place::Vm {
        // Not a place that may fault; and the VM lock may be held here.
        return fatal::crash(thread, signal, info, context);
    }
    if signal == c::SIGTRAP && killed(thread, context, pc.wrapping_sub(1)) {
        return;
    }
    if signal == c::SIGSEGV && ours(thread, info, context, pc) {
        return;
    }
    if unreadable_source(thread, info, context, pc) {
        return;
    }
    app_fault(thread, signal, info, context, pc);
}

/// Whether the same fault comes over and over, for all that is done about it: memory of ours
/// is damaged. If it is damaged so that not even this can be told, the process ends.
fn goes_round(thread: &mut Thread, signal: u32) -> bool {
    /// More than the VM ever meets between two entries.
    const MOST: u32 = 1 << 18;
    thread.signals.faults += 1;
    if thread.signals.faults > MOST {
        fatal::end_at_once(signal);
    }
    thread.signals.faults == MOST
}

/// Whether another thread has taken away the program's own stack segment (modify_ldt(2)):
/// the kernel cannot return to this one with it, wherever it is.
fn stack_segment_is_gone(signal: u32, info: &SigInfo, context: &UContext) -> bool {
    signal == c::SIGSEGV && info.code == SI_KERNEL && !context.has_stack_segment()
}

/// Whether a trap of the runtime's own lies just before `pc`.
fn own_trap(pc: u64) -> bool {
    matches!(
        gate::place(pc.wrapping_sub(1)),
        Place::DeliveryTrap | Place::NativeTrap
    )
}

fn on_own_trap(thread: &mut Thread, context: &mut UContext, pc: u64) {
    if gate::place(pc.wrapping_sub(1)) == Place::NativeTrap {
        native::arrive(thread, context);
    } else {
        enter_or_deliver(thread, context);
    }
}

/// The VM turned away from the cache because a signal waits.
fn enter_or_deliver(thread: &mut Thread, context: &mut UContext) {
    if thread.signals.native != Native::Off {
        // The one instruction first; the signal is delivered behind it.
        return native::arrive(thread, context);
    }
    context.gregs[greg::RIP] = thread.entering;
    match locate(thread, thread.entering) {
        Where::App(spot) if spot.boundary => deliver_waiting(thread, context, &spot),
        _ => step::begin(thread, context),
    }
}

/// Page faults by which the cache works: the first execution of a restored group,
/// a store to guarded code.
fn ours(thread: &mut Thread, info: &SigInfo, context: &mut UContext, pc: u64) -> bool {
    const PF_WRITE: u64 = 2;
    const PF_KEY: u64 = 32;
    if context.gregs[greg::ERR] & PF_KEY != 0 {
        // The app's protection keys: we set none.
        return false;
    }
    let addr = info.rest[0];
    let mut vm = vm::lock();
    if addr == pc && vm.code.in_units(pc) {
        if !vm.code.admit(pc) {
            let (target, ctx) = vm.code.entry_of_refused(pc);
            redirect(thread, context, target, ctx);
        }
        return true;
    }
    let write = context.gregs[greg::ERR] & PF_WRITE != 0;
    if !(write && changes::store(&mut vm, addr, pc)) {
        return false;
    }
    // The fragment at hand may be stale now: go on through the VM.
    if let Some(spot) = translate::spot(&vm, pc) {
        deliver::put_right(thread, context, &spot);
        let ctx = deliver::continuation(&vm, &spot);
        redirect(thread, context, spot.pc, ctx);
    }
    true
}

/// The fault of code that compares its source (`compare.rs` of the compiler): nothing else
/// holds the flags in rax. The VM looks why.
fn unreadable_source(thread: &mut Thread, info: &SigInfo, context: &mut UContext, pc: u64) -> bool {
    let mut vm = vm::lock();
    let comparing = |spot: &translate::Spot| spot.flags_in_rax;
    let Some(spot) = translate::spot(&vm, pc).filter(comparing) else {
        return false;
    };
    changes::unreadable(&mut vm, spot.pc.0, info.rest[0]);
    deliver::put_right(thread, context, &spot);
    let ctx = deliver::continuation(&vm, &spot);
    redirect(thread, context, spot.pc, ctx);
    true
}

/// The entry of a persisted fragment whose source has changed: translate anew.
fn killed(thread: &mut Thread, context: &mut UContext, entry: u64) -> bool {
    let vm = vm::lock();
    let found = vm
        .code
        .unit_at(entry)
        .filter(|(_, unit)| unit.is_killed(entry));
    let Some((image, unit)) = found else {
        return false;
    };
    unit.unlink_refused();
    let (pc, ctx) = unit.entry_at(entry, vm.code.images.get(image).base);
    redirect(thread, context, pc, ctx);
    true
}

/// A fault of the app's own.
fn app_fault(thread: &mut Thread, signal: u32, info: &SigInfo, context: &mut UContext, pc: u64) {
    thread.signals.stepping = false;
    let behind = signal == c::SIGTRAP && !is_int1(pc);
    let at = pc.wrapping_sub(u64::from(behind));
    let found = if vm::is_runtime(pc) {
        None
    } else {
        translate::spot(&vm::lock(), at)
    };
    let aborted = sequence::aborted(&vm::lock(), thread, pc);
    if let Some(spot) = aborted {
        return aborting_fault(thread, signal, info, context, &spot);
    }
    let Some(mut spot) = found else {
        return fatal::crash(thread, signal, info, context);
    };
    if behind {
        // A trap is reported behind the instruction.
        spot.pc = spot.pc.wrapping_add(u64::from(spot.inside) + 1);
    }
    let mut info = *info;
    if info.rest[0] == pc && addressed(signal, info.code) {
        info.rest[0] = spot.pc.0;
    }
    deliver::deliver(thread, context, &info, &spot, true);
}

/// Whether the thread stands at an `int1` in the cache. Its trap comes behind it, where
/// a branch out of the fragment is, but some hypervisors report it at the instruction.
fn is_int1(pc: u64) -> bool {
    const INT1: u8 = 0xf1;
    let prefix = |byte: &&u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf2 | 0xf3);
    let bytes = peek::read_value::<[u8; 15]>(pc).unwrap_or_default();
    bytes.iter().find(|byte| !prefix(byte)) == Some(&INT1)
}

/// The same in a restartable sequence, which the kernel has aborted for it: the thread
/// stands at `spot`, the abort handler.
fn aborting_fault(
    thread: &mut Thread,
    signal: u32,
    info: &SigInfo,
    context: &mut UContext,
    spot: &translate::Spot,
) {
    let mut info = *info;
    if addressed(signal, info.code)
        && let Some(at) = translate::spot(&vm::lock(), info.rest[0])
    {
        info.rest[0] = at.pc.0;
    }
    deliver::deliver(thread, context, &info, spot, true);
}

/// Whether `si_addr` is the instruction's own address.
fn addressed(signal: u32, code: i32) -> bool {
    code != SI_KERNEL && signal != c::SIGSEGV && signal != c::SIGBUS
}

/// Address of the delivery trap.
fn delivery_trap() -> u64 {
    ppin_process::gate::cross(ppin_process::gate::deliver_trap)
}
