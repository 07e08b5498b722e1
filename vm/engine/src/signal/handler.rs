//! The VM's signal handler, and its decision what to do with a signal.

use super::redirect::redirect;
use super::waiting::deliver_waiting;
use super::whereabouts::{Where, gate_spot, locate};
use super::{again, callee, deliver, fatal, in_routine, native, step, traps};
use crate::check::sample;
use crate::life::leave;
use ppin_abi::addr::AppPc;
use ppin_abi::boot::flag;
use ppin_abi::context::Context;
use ppin_os::frame::{SigInfo, UContext, greg};
use ppin_os::{Errno, c, peek, report, signals, userfault};
use ppin_process::gate::{self, Place, vmcall};
use ppin_process::hints::Hint;
use ppin_process::signal::native::Native;
use ppin_process::signal::{FAULTS, HOLD_ALL, bit, is_fault};
use ppin_process::thread::Thread;
use ppin_process::{translate, vm};
use ppin_translate::{changes, sequence};

/// `si_code` of what the kernel forces upon a thread.
const SI_KERNEL: i32 = c::SI_KERNEL as i32;

/// Called by `signal_entry`, on the VM's signal stack.
///
/// # Safety
/// Called by the kernel alone, with a frame of its own.
pub(crate) unsafe extern "C" fn on_signal(signal: i32, info: *mut SigInfo, context: *mut UContext) {
    // SAFETY: the kernel's frame.
    let (info, context) = unsafe { (&mut *info, &mut *context) };
    // The thread is not found by gs, which may be the app's (see `thread::segment`).
    // SAFETY: the thread adopted its signal stack before it unblocked signals.
    let thread = unsafe { ppin_process::thread::of_signal_stack(context.stack[0]) };
    let signal = signal as u32;
    if sample::in_copy() {
        return sample::on_signal(thread, signal, info, context);
    }
    let fault = is_fault(signal) && info.code > 0;
    if leave::is_request(info) {
        thread.signals.leave_requested = true;
        if thread.pending != 0 {
            // (The thread leaves when the pending signal is delivered.)
            return;
        }
    }
    if fault {
        on_fault(thread, signal, info, context);
        while let Some(lost) = thread.signals.sent.take_lost() {
            on_async(thread, &SigInfo::sent(lost), context);
        }
    } else {
        if is_fault(signal) {
            thread.signals.sent.came(signal);
        }
        on_async(thread, info, context)
    }
}

/// Handles a signal that the instruction at hand has not raised.
fn on_async(thread: &mut Thread, info: &SigInfo, context: &mut UContext) {
    let pc = context.gregs[greg::RIP];
    if thread.signals.native == Native::Compat {
        // (The next single step ends at a boundary.)
        return wait(thread, info, context);
    }
    if info.signo as u32 == c::SIGTRAP && own_trap(pc) {
        // The signal and the VM's trap have the same number and do not queue: the kernel has
        // dropped the trap.
        wait(thread, info, context);
        return on_own_trap(thread, context, pc);
    }
    if in_routine::is(thread, context) {
        wait(thread, info, context);
        return in_routine::hold(thread);
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
            if is_in_handler(thread, context) {
                thread.signals.came_meanwhile |= thread.pending == 0;
                again::again(context);
            }
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

/// Whether the VM's signal handler was running, or about to return.
fn is_in_handler(thread: &Thread, context: &UContext) -> bool {
    let (start, len) = thread.signals.stack;
    context.gregs[greg::RSP].wrapping_sub(start) < len
}

/// Called when the handler is done with its frame, and a signal has come meanwhile: it is dealt with as if it had come
/// behind the return.
///
/// # Safety
/// Called by the restorer alone, with the frame that it returns by.
pub(super) unsafe extern "C" fn meanwhile(thread: *mut Thread, context: *mut UContext) {
    // SAFETY: the kernel's frame on the thread's signal stack, which no other code uses any more.
    let (thread, context) = unsafe { (&mut *thread, &mut *context) };
    thread.signals.came_meanwhile = false;
    if core::mem::take(&mut thread.pending) != 0 {
        let info = thread.signals.waiting;
        on_async(thread, &info, context);
    }
}

/// Whether a signal can be delivered at `spot`. Inserted counting code before a repeatable
/// instruction counts as a boundary, because the instruction may wait for its page
/// (userfaultfd(2)), and single-stepping it would wait as long. This does not hold where boundaries
/// are themselves counted.
fn may_stop_at(thread: &Thread, spot: &translate::Spot) -> bool {
    if spot.ahead && !userfault::is_on() {
        // (Soon there is a boundary at which the thread can go on as if nothing had happened.)
        return false;
    }
    spot.boundary || spot.repeatable && !counts_boundaries(thread)
}

/// Whether each boundary that the thread comes to counts: the app or the VM steps from one to the
/// next.
fn counts_boundaries(thread: &Thread) -> bool {
    let lockstep = || vm::lock().config().flags & flag::LOCKSTEP != 0;
    thread.signals.trap_flag.traps() || lockstep()
}

/// Whether the app's filter has trapped a system call that the VM makes for itself. The app gets no
/// signal for it, and the call fails for the VM.
fn refused_call(info: &SigInfo, pc: u64) -> bool {
    info.is_from_filter() && !vmcall::is_the_apps(pc)
}

/// Keeps the signal pending until a boundary. The kernel blocks further signals, except those with
/// the numbers of faults, which are held here. If the VM has changed the mask since (it does while
/// it writes a file), another one can come all the same: the kernel gets it back, and keeps it.
fn wait(thread: &mut Thread, info: &SigInfo, context: &mut UContext) {
    if thread.pending == 0 {
        thread.signals.waiting = *info;
        thread.pending = 1;
    } else if FAULTS & bit(info.signo as u32) != 0 {
        thread.signals.held.put(info);
    } else {
        signals::queue_to_self(info);
    }
    context.sigmask = HOLD_ALL;
}

/// Handles a fault, or one of the VM's own traps.
fn on_fault(thread: &mut Thread, signal: u32, info: &SigInfo, context: &mut UContext) {
    // (A step that ends there is no fault of the instruction.)
    if signal == c::SIGSEGV && gate::cpuid::is_itself(context.gregs[greg::RIP]) {
        context.gregs[greg::RIP] = gate::cpuid::asked_at(&thread.area);
    }
    let pc = context.gregs[greg::RIP];
    if signal != c::SIGTRAP && keeps_faulting(thread, signal) {
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
        // A signal that the kernel sends for the app's system call, such as a misplaced
        // `uretprobe`.
        let spot = gate_spot(thread, true);
        return deliver::deliver(thread, context, info, &spot, true);
    }
    if thread.signals.native != Native::Off && native::step(thread, signal, info, context) {
        return;
    }
    if traps::ends_step(signal, info, context) {
        return step::stepped(thread, context);
    }
    if gate::place(pc) == Place::Vm && (vm::is_runtime(pc) || on_own_stack(thread, context)) {
        // Code of the VM that must not fault, or where that has gone astray; it may hold the VM lock.
        return fatal::crash(thread, signal, info, context);
    }
    if signal == c::SIGTRAP && refused_entry(thread, context, pc.wrapping_sub(1)) {
        return;
    }
    if callee::go_on_without(thread, info, context, pc) {
        return;
    }
    if signal == c::SIGSEGV
        && (left_unlinked(info, context, pc) || cache_fault(thread, info, context, pc))
    {
        return;
    }
    if unreadable_source(thread, info, context, pc) || led_nowhere(thread, context, pc) {
        return;
    }
    let (g, area) = (&mut context.gregs, &thread.area);
    g[greg::RSP] = gate::ret::stack_of(area, g[greg::RSP], g[greg::RDX]);
    app_fault(thread, signal, info, context, pc);
}

/// Whether the VM is running, its handler of signals, or a routine that it has called: the program never
/// has these stacks. (What is known of the runtime's code may be damaged; where stacks lie, lies apart.)
fn on_own_stack(thread: &Thread, context: &UContext) -> bool {
    let rsp = context.gregs[greg::RSP];
    let mut stacks = [thread.vm_stack(), thread.signals.stack].into_iter();
    stacks.any(|(start, len)| rsp.wrapping_sub(start) <= len)
}

/// Whether the thread has gone to where nothing is, as its return cache or its table of landings has
/// said, or has been kept from a return to no address: see [`gate::ret::returned_to_nowhere`],
/// [`gate::landings::arrived_nowhere`] and [`gate::ret::barred`]. (The app's own code never runs at its own
/// address here.)
fn led_nowhere(thread: &mut Thread, context: &mut UContext, pc: u64) -> bool {
    if vm::is_runtime(pc) {
        return false;
    }
    let (area, g) = (&mut thread.area, &mut context.gregs);
    let resume = if vm::lock().code().in_cache(pc) {
        if let Some(rotated) = gate::ret::rotated(pc, g[greg::RAX]) {
            (g[greg::RIP], g[greg::RAX]) = rotated;
            return true;
        }
        if let Some(barred) = gate::ret::barred(area, pc, g[greg::RSP]) {
            (g[greg::RIP], g[greg::RCX], g[greg::RDX]) = (barred.rip, barred.rcx, barred.rdx);
            return true;
        }
        gate::ret::refused(area, pc, g[greg::RSP])
    } else {
        // (A return first: its stack pointer tells it, but a jump made long ago may have left its note.)
        gate::ret::returned_to_nowhere(area, pc, g[greg::RSP])
            .or_else(|| gate::landings::arrived_nowhere(area, pc, g[greg::RCX]))
            .map(|resume| (resume, g[greg::RSP]))
    };
    if let Some((pc, rsp)) = resume {
        (g[greg::RIP], g[greg::RSP]) = (pc, rsp);
    }
    resume.is_some()
}

/// Counts faults since the last VM entry; `true` if there are too many, because repairing the fault
/// does not help: the VM's memory is damaged. If the damage prevents even the report, the process
/// ends.
fn keeps_faulting(thread: &mut Thread, signal: u32) -> bool {
    /// More faults than ever occur between two VM entries.
    const MOST: u32 = 1 << 18;
    thread.signals.faults += 1;
    if thread.signals.faults > MOST {
        report::memory_is_damaged(signal);
    }
    thread.signals.faults == MOST
}

/// Whether another thread has removed the program's own stack segment (modify_ldt(2)): the kernel
/// cannot return to this thread with it.
fn stack_segment_is_gone(signal: u32, info: &SigInfo, context: &UContext) -> bool {
    signal == c::SIGSEGV && info.code == SI_KERNEL && !context.has_stack_segment()
}

/// Whether one of the VM's own traps lies just before `pc`.
fn own_trap(pc: u64) -> bool {
    matches!(
        gate::place(pc.wrapping_sub(1)),
        Place::DeliveryTrap | Place::NativeTrap | Place::RoutineTrap
    )
}

fn on_own_trap(thread: &mut Thread, context: &mut UContext, pc: u64) {
    match gate::place(pc.wrapping_sub(1)) {
        Place::NativeTrap => native::arrive(thread, context),
        Place::RoutineTrap => {
            in_routine::returned(thread, context);
            step::begin(thread, context);
        }
        _ => enter_or_deliver(thread, context),
    }
}

/// Handles the delivery trap: the VM was about to enter the cache, and a signal is pending.
fn enter_or_deliver(thread: &mut Thread, context: &mut UContext) {
    if thread.signals.native != Native::Off {
        // The native instruction runs first; the signal is delivered after it.
        return native::arrive(thread, context);
    }
    context.gregs[greg::RIP] = thread.entering;
    match locate(thread, thread.entering) {
        Where::App(spot) if spot.boundary => deliver_waiting(thread, context, &spot),
        Where::App(_) if is_after_call(thread) => {
            deliver_waiting(thread, context, &after_call(thread))
        }
        _ => step::begin(thread, context),
    }
}

/// Whether the thread goes on behind a system call that the VM has handled, and may stop there
/// instead of at the next boundary: what the code there does is to load the registers that have
/// their values already.
fn is_after_call(thread: &Thread) -> bool {
    thread.entering == thread.signals.after_call && !counts_boundaries(thread)
}

/// The app's side of the place behind a system call.
fn after_call(thread: &Thread) -> translate::Spot {
    translate::Spot {
        code: thread.entering,
        context: Context(thread.resume_context),
        ..translate::Spot::at(AppPc(thread.resume_pc))
    }
}

/// Handles the fault of a stub whose exit no run has linked: its slot holds no address.
fn left_unlinked(info: &SigInfo, context: &mut UContext, pc: u64) -> bool {
    let stub = (info.code == SI_KERNEL).then(|| vm::lock().code_mut().leave_unlinked(pc));
    let Some(stub) = stub.flatten() else {
        return false;
    };
    context.gregs[greg::RIP] = stub;
    true
}

/// Handles the page faults that the cache relies on: the first execution of a restored group, and a
/// store to guarded code. Returns whether it was one.
fn cache_fault(thread: &mut Thread, info: &SigInfo, context: &mut UContext, pc: u64) -> bool {
    const PF_WRITE: u64 = 2;
    const PF_KEY: u64 = 32;
    if context.gregs[greg::ERR] & PF_KEY != 0 {
        // (The VM sets no protection keys, so this is the app's fault.)
        return false;
    }
    let addr = info.rest[0];
    let mut vm = vm::lock();
    if addr == pc && vm.code().in_units(pc) {
        if !vm.code_mut().admit(pc) {
            let (target, ctx) = vm.code_mut().entry_of_refused(pc);
            redirect(thread, context, target, ctx);
        } else {
            vm.hints().note(Hint::Group(pc));
        }
        return true;
    }
    let write = context.gregs[greg::ERR] & PF_WRITE != 0;
    if !(write && changes::store(&mut vm, addr, pc)) {
        return false;
    }
    // The running fragment may be stale now: go on through the VM. (A result that a routine has returned is
    // stored by it alone.)
    if let Some(spot) = translate::spot(&vm, pc).filter(|spot| !spot.stores_result) {
        deliver::put_right(thread, context, &spot);
        let ctx = deliver::continuation(&vm, &spot);
        redirect(thread, context, spot.pc, ctx);
    }
    true
}

/// Handles a fault of code that compares its source (`compare.rs` of the compiler): no other code
/// holds the flags in rax. The VM finds out the reason.
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

/// Handles the trap at the entry of a persisted fragment whose source has changed: it is translated
/// again.
fn refused_entry(thread: &mut Thread, context: &mut UContext, entry: u64) -> bool {
    let mut vm = vm::lock();
    let unit = vm.code().unit_at(entry);
    if !unit.is_some_and(|(_, unit)| unit.is_killed(entry)) {
        return false;
    }
    let (pc, ctx) = vm.code_mut().entry_of_refused(entry);
    redirect(thread, context, pc, ctx);
    true
}

/// Delivers a fault of the app itself.
fn app_fault(thread: &mut Thread, signal: u32, info: &SigInfo, context: &mut UContext, pc: u64) {
    thread.signals.stepping = false;
    let behind = traps::is_behind(signal, context);
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
        // (A trap is reported after its instruction.)
        spot.pc = spot.pc.wrapping_add(u64::from(spot.inside) + 1);
    }
    let told = core::mem::take(&mut spot.told);
    spot.corrections.extend(told);
    let mut info = *info;
    if info.rest[0] == pc && addressed(signal, info.code) {
        info.rest[0] = spot.pc.0;
    }
    deliver::deliver(thread, context, &info, &spot, true);
}

/// Delivers a fault of the app in a restartable sequence, which the kernel has aborted for it: the
/// thread stands at `spot`, the abort handler.
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
