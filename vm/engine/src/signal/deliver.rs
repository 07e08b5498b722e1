//! Delivers signals to the app, with the frame that the kernel would have written.

use super::redirect::redirect;
use super::whereabouts::gate_spot;
use super::{compat, fatal};
use crate::life::leave;
use ppin_abi::addr::AppPc;
use ppin_abi::context::Context;
use ppin_os::frame::{self, CONTEXT, INFO, Room, SigInfo, UContext, greg};
use ppin_os::signals::KernelSigaction;
use ppin_os::{Errno, c};
use ppin_process::signal::interrupted::Interrupted;
use ppin_process::signal::trap_flag::TrapFlag;
use ppin_process::signal::{DEFAULT, FAULTS, HOLD_ALL, IGNORE, bit, default_kills, kernel_mask};
use ppin_process::thread::Thread;
use ppin_process::translate::{self, Spot};
use ppin_process::vm::{self, Vm};
use ppin_process::{gate, pending, x87};
use ppin_translate::changes;

const REDZONE: u64 = 128;
const SI_KERNEL: i32 = c::SI_KERNEL as i32;
const PAGE_FAULT: u64 = 14;

/// If a system call was interrupted only for the VM: restores the state before it, from which it is
/// made again.
pub(crate) fn undo_interruption(thread: &Thread, context: &mut UContext) -> Option<Spot> {
    let done = gate::place(context.gregs[greg::RIP]) == gate::Place::GateDone;
    let interrupted = done && context.gregs[greg::RAX] as isize == Errno::EINTR.raw();
    interrupted.then(|| {
        context.gregs[greg::RAX] = thread.area.scratch[gate::disp::scratch::SYS_NR];
        gate_spot(thread, false)
    })
}

/// Restores the app's state at `spot` in `context` and the counters.
pub(crate) fn put_right(thread: &mut Thread, context: &mut UContext, spot: &Spot) {
    if spot.flags_in_rax {
        restore_flags(context);
    }
    if spot.own_stack {
        context.gregs[greg::RSP] = thread.area.calls.app_sp;
    }
    for (slot, register) in spot.spilled.iter() {
        let value = thread.area.spill[slot.number()];
        context.gregs[greg::BY_NUMBER[usize::from(register)]] = value;
    }
    translate::correct(thread, &spot.corrections);
    if spot.context.contains(Context::CALLED) {
        // (A push that comes first would do it.)
        gate::ret::clear_below(&thread.area, context.gregs[greg::RSP]);
    }
    if !vm::is_runtime(context.gregs[greg::RIP]) {
        return;
    }
    // At the gate, rcx and r11 must hold the values that the kernel leaves in them.
    context.gregs[greg::RCX] = spot.pc.0;
    let flag = thread.signals.trap_flag;
    context.gregs[greg::R11] = flag.shown(context.gregs[greg::FLAGS]);
}

/// The arithmetic flags lie in rax, as `lahf; seto al` has left them.
fn restore_flags(context: &mut UContext) {
    const SHOWN_BY_LAHF: u64 = 0xd5;
    const OVERFLOW: u64 = 0x800;
    let rax = context.gregs[greg::RAX];
    let overflow = if rax & 1 != 0 { OVERFLOW } else { 0 };
    let flags = &mut context.gregs[greg::FLAGS];
    *flags = *flags & !(SHOWN_BY_LAHF | OVERFLOW) | rax >> 8 & SHOWN_BY_LAHF | overflow;
}

/// Context in which the instruction at `spot` is translated again.
#[must_use]
pub(crate) fn continuation(vm: &Vm, spot: &Spot) -> Context {
    let volatile = Context(spot.context.0 & Context::VOLATILE.0);
    let head = spot.block_start && !spot.context.contains(Context::CONTINUATION);
    if head || !vm.tool().distinguishes_blocks() {
        volatile
    } else {
        volatile.with(Context::CONTINUATION)
    }
}

/// Delivers `info` to the app, which stands at `spot`. `context` is the kernel's frame for the VM's
/// handler, by which the thread returns. `fault`: the instruction at `spot` has raised the signal.
pub(crate) fn deliver(
    thread: &mut Thread,
    context: &mut UContext,
    info: &SigInfo,
    spot: &Spot,
    fault: bool,
) {
    let leaves = thread.signals.leave_requested && !fault;
    if leaves && thread.signals.saved_mask.is_some() {
        leave::put_off(thread);
    } else if leaves && leave::instead_of_delivery(thread, context, info, spot) {
        return;
    }
    if leave::is_request(info) {
        // (The process stays: the call that only the request has interrupted goes on.)
        let spot = &leave::at_rest(thread, context, info, spot);
        put_right(thread, context, spot);
        return go_on(thread, context, spot);
    }
    let signal = info.signo as u32;
    let info = &as_the_app_called(info, spot);
    let action = thread.process().actions.get(signal);
    let blocked = thread.signals.mask & bit(signal) != 0;
    let deadly = fault && (blocked || action.handler <= IGNORE);
    if deadly && fatal::repeat(thread, signal, context) {
        return;
    }
    put_right(thread, context, spot);
    if ppin_process::report::log::on() {
        let (tid, code) = (thread.tid, info.code);
        vm::lock().log_at(
            format_args!("thread {tid}: signal {signal}, code {code}, at"),
            spot.pc,
        );
    }
    if fault && !is_stale(signal, context) {
        let g = &context.gregs;
        let [err, trap, address] = &mut thread.signals.last_fault;
        (*err, *trap) = (g[greg::ERR], g[greg::TRAPNO]);
        if *trap == PAGE_FAULT {
            // (The kernel's value may be that of an earlier fault of the VM.)
            *address = g[greg::CR2];
        }
    }
    let kills = core::mem::take(&mut thread.signals.waiting_kills);
    if kills || deadly && (blocked || action.handler == IGNORE) {
        return fatal::die(thread, context, spot.pc, info);
    }
    if blocked && FAULTS & bit(signal) != 0 {
        pending::keep(thread, info);
        return go_on(thread, context, spot);
    }
    let info = &pending::resolve_notification(thread, info);
    match action.handler {
        DEFAULT if default_kills(signal) => fatal::die(thread, context, spot.pc, info),
        DEFAULT | IGNORE => go_on(thread, context, spot),
        _ => push(thread, context, info, spot, &action),
    }
}

/// Whether the fault data in the frame are those of an earlier trap of the VM: the kernel forces
/// some signals without a fault of the CPU (a bad call of the vsyscall page).
fn is_stale(signal: u32, context: &UContext) -> bool {
    const TRAPS: [u64; 2] = [1, 3];
    signal != c::SIGTRAP && TRAPS.contains(&context.gregs[greg::TRAPNO])
}

/// The `info` for the app: a signal from a filter holds the address of the system call, which is
/// the gate's, so it is replaced by the app's.
fn as_the_app_called(info: &SigInfo, spot: &Spot) -> SigInfo {
    let mut info = *info;
    if info.is_from_filter() {
        info.rest[0] = spot.pc.0;
    }
    info
}

/// The mask to install in the kernel. If no signal is pending, a held one that the app does not
/// block becomes pending. While a signal is pending, all others are blocked.
fn open_mask(thread: &mut Thread) -> u64 {
    if thread.pending == 0
        && let Some(info) = pending::take(thread, !thread.signals.mask)
    {
        thread.signals.waiting = info;
        thread.pending = 1;
    }
    if thread.pending == 0 {
        kernel_mask(thread.signals.mask)
    } else {
        HOLD_ALL
    }
}

/// Lets the thread go on at `spot` without delivering a signal.
pub(crate) fn go_on(thread: &mut Thread, context: &mut UContext, spot: &Spot) {
    context.sigmask = open_mask(thread);
    if !context.is_64_bit() {
        return compat::resume(thread, context);
    }
    let ctx = continuation(&vm::lock(), spot);
    redirect(thread, context, spot.pc, ctx);
}

/// Writes the app's frame and redirects the thread to the handler.
fn push(
    thread: &mut Thread,
    context: &mut UContext,
    info: &SigInfo,
    spot: &Spot,
    action: &KernelSigaction,
) {
    let signal = info.signo as u32;
    let pc = thread.signals.in_call.left(context, spot.pc, action.flags);
    // (Elsewhere it is in no fragment.)
    let code = if pc == spot.pc { spot.code } else { 0 };
    x87::correct_frame(context.fpstate);
    let mut app = *context;
    app.gregs[greg::RIP] = pc.0;
    app.gregs[greg::FLAGS] = thread.signals.trap_flag.shown(app.gregs[greg::FLAGS]);
    app.sigmask = thread
        .signals
        .saved_mask
        .take()
        .unwrap_or(thread.signals.mask);
    app.gregs[greg::OLDMASK] = app.sigmask;
    [
        app.gregs[greg::ERR],
        app.gregs[greg::TRAPNO],
        app.gregs[greg::CR2],
    ] = thread.signals.last_fault;
    app.stack = thread.signals.alt.as_set();
    let room = room(thread, context.gregs[greg::RSP], action);
    let Some(frame) = write_frame(&room, action.restorer, &app, info) else {
        return no_stack(thread, context, signal, spot);
    };
    thread.signals.remember(Interrupted {
        frame,
        pc: pc.0,
        code,
        continues: !spot.block_start || spot.context.contains(Context::CONTINUATION),
    });
    enter_handler(thread, context, frame, signal, action);
}

/// Writes the frame: see [`frame::write`]. There may be code beside the stack, whose guards are lifted then.
fn write_frame(room: &Room, restorer: u64, app: &UContext, info: &SigInfo) -> Option<u64> {
    let write = || frame::write(room, restorer, app, info);
    let lift = || changes::release_all(&mut vm::lock());
    write().or_else(|| lift().then(write).flatten())
}

/// The app's stack cannot hold the frame: the kernel forces SIGSEGV instead
/// (`force_sigsegv`), and gives up if that was the signal.
fn no_stack(thread: &mut Thread, context: &mut UContext, signal: u32, spot: &Spot) {
    let info = SigInfo::fault(c::SIGSEGV, SI_KERNEL, 0);
    if signal == c::SIGSEGV {
        return fatal::die(thread, context, spot.pc, &info);
    }
    deliver(thread, context, &info, &spot.put_right(), true);
}

/// Sets registers, mask and disposition for entering a handler.
fn enter_handler(
    thread: &mut Thread,
    context: &mut UContext,
    frame: u64,
    signal: u32,
    action: &KernelSigaction,
) {
    let own = if action.flags & u64::from(c::SA_NODEFER) == 0 {
        bit(signal)
    } else {
        0
    };
    thread.signals.mask |= (action.mask | own) & !ppin_process::signal::UNCATCHABLE;
    if thread.signals.alt.autodisarm {
        thread.signals.alt = Default::default();
    }
    if action.flags & u64::from(c::SA_RESETHAND) != 0 {
        let actions = &mut thread.process().actions;
        actions.reset(signal);
        actions.install(signal);
    }
    let g = &mut context.gregs;
    g[greg::RDI] = u64::from(signal);
    g[greg::RSI] = frame + INFO;
    g[greg::RDX] = frame + CONTEXT;
    g[greg::RAX] = 0;
    g[greg::RSP] = frame;
    g[greg::FLAGS] &= !(0x100 | 0x400 | 0x1_0000); // TF, DF, RF
    context.enter_64_bit();
    thread.signals.trap_flag = TrapFlag::default();
    context.sigmask = open_mask(thread);
    frame::reset_vector_state(context.fpstate);
    redirect(thread, context, AppPc(action.handler), Context::CANONICAL);
}

/// The part of the stack for the frame, as the kernel's `get_sigframe` chooses it: a frame that
/// does not fit on the alternate stack is not written.
fn room(thread: &Thread, sp: u64, action: &KernelSigaction) -> Room {
    let alt = &thread.signals.alt;
    let wanted = action.flags & u64::from(c::SA_ONSTACK) != 0;
    let below = sp.wrapping_sub(REDZONE);
    let entering = wanted && alt.size != 0 && !alt.in_use(below);
    Room {
        top: if entering { alt.base + alt.size } else { below },
        bottom: if entering || alt.in_use(sp) {
            alt.base
        } else {
            0
        },
    }
}
