//! rt_sigaction, rt_sigprocmask, rt_sigreturn, sigaltstack, rt_sigpending and
//! rt_sigtimedwait (the manual pages of these names).

use super::outcome::Outcome;
use crate::signal::compat;
use crate::signal::inside::Inside;
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::context::Context;
use ppin_os::frame::{self, SigInfo, UContext, greg};
use ppin_os::signals::{self, KernelSigaction};
use ppin_os::{Errno, c, peek};
use ppin_process::gate::table;
use ppin_process::signal::alt::{AltStack, SS_AUTODISARM, SS_DISABLE, SS_ONSTACK};
use ppin_process::signal::trap_flag::TrapFlag;
use ppin_process::signal::{
    DEFAULT, FAULTS, IGNORE, MAX_SIGNAL, UNCATCHABLE, bit, default_kills, is_fault, kernel_mask,
};
use ppin_process::thread::{Thread, reg};
use ppin_process::{pending, vm};

/// Handles one of the first five.
pub(super) fn handle(thread: &mut Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    match nr {
        c::__NR_rt_sigaction => Outcome::Done(sigaction(thread, args)),
        c::__NR_rt_sigprocmask => Outcome::Done(sigprocmask(thread, args)),
        c::__NR_sigaltstack => Outcome::Done(sigaltstack(thread, args)),
        c::__NR_rt_sigpending => Outcome::Done(sigpending(thread, args)),
        _ => sigreturn(thread),
    }
}

/// rt_sigaction, in the kernel's order: a new action stays set even if the old one cannot be
/// written.
fn sigaction(thread: &mut Thread, args: &[usize; 6]) -> isize {
    let signal = args[0] as u32;
    if args[3] != 8 {
        return Errno::EINVAL.raw();
    }
    let new: Option<KernelSigaction> = match args[1] {
        0 => None,
        at => match peek::read_value(at as u64) {
            Some(new) => Some(new),
            None => return Errno::EFAULT.raw(),
        },
    };
    if signal == 0 || signal > MAX_SIGNAL || (new.is_some() && UNCATCHABLE & bit(signal) != 0) {
        return Errno::EINVAL.raw();
    }
    let vm = vm::lock();
    let process = thread.process();
    let actions = &mut process.actions;
    actions.learn(bit(signal));
    let old = actions.get(signal);
    if let Some(mut new) = new {
        new.mask &= !UNCATCHABLE;
        new.flags &= KNOWN_FLAGS;
        actions.set(signal, new);
        actions.install(signal);
        match new.handler {
            _ if !is_fault(signal) => {}
            DEFAULT => {}
            IGNORE => pending::drop_ignored(&vm, process, signal),
            _ => table::watch_sent_faults(),
        }
    }
    if args[2] != 0 && !peek::write_value(args[2] as u64, &old) {
        return Errno::EFAULT.raw();
    }
    0
}

/// The kernel's `UAPI_SA_FLAGS`; other flags read back as 0.
const KNOWN_FLAGS: u64 = {
    const SA_EXPOSE_TAGBITS: u32 = 0x800;
    let first = c::SA_NOCLDSTOP | c::SA_NOCLDWAIT | c::SA_SIGINFO | c::SA_ONSTACK;
    (first | c::SA_RESTART | c::SA_NODEFER | c::SA_RESETHAND | SA_EXPOSE_TAGBITS | c::SA_RESTORER)
        as u64
};

fn sigprocmask(thread: &mut Thread, args: &[usize; 6]) -> isize {
    if args[3] != 8 {
        return Errno::EINVAL.raw();
    }
    let old = thread.signals.mask;
    if args[1] != 0 {
        let Some(set) = peek::read_value::<u64>(args[1] as u64) else {
            return Errno::EFAULT.raw();
        };
        let set = set & !UNCATCHABLE;
        let new = match args[0] as u32 {
            c::SIG_BLOCK => old | set,
            c::SIG_UNBLOCK => old & !set,
            c::SIG_SETMASK => set,
            _ => return Errno::EINVAL.raw(),
        };
        change_mask(thread, new);
    }
    if args[2] != 0 && !peek::write_value(args[2] as u64, &old) {
        return Errno::EFAULT.raw();
    }
    0
}

/// Sets the app's mask. While a signal is pending, the kernel goes on blocking the others until it
/// is delivered.
pub(super) fn change_mask(thread: &mut Thread, mask: u64) {
    thread.signals.mask = mask;
    // (The kernel also delivers pending signals first.)
    pending::release(thread);
    if thread.pending == 0 {
        signals::set_mask(kernel_mask(mask));
    }
}

/// `rt_sigpending`: held signals are pending, too.
fn sigpending(thread: &Thread, args: &[usize; 6]) -> isize {
    let result = super::outcome::pass(c::__NR_rt_sigpending, args);
    let held = pending::pending(thread);
    let (at, size) = (args[0] as u64, args[1]);
    if result == 0 && held != 0 {
        let mut set = [0; 8];
        peek::read(at, &mut set[..size]);
        let set = (u64::from_le_bytes(set) | held).to_le_bytes();
        for (at, byte) in (at..).zip(&set[..size]) {
            let written = peek::write_value(at, byte);
            debug_assert!(written, "the kernel has just written there");
        }
    }
    result
}

/// `rt_sigtimedwait`, where it cannot be left to the kernel: the app waits for signals that the VM
/// may hold, or for signals that end the process, for which the kernel has the VM's handler.
/// `None`: the kernel can make the call.
pub(super) fn timed_wait(thread: &mut Thread, args: &[usize; 6]) -> Option<Outcome> {
    if args[3] != 8 {
        return None;
    }
    let wanted = peek::read_value::<u64>(args[0] as u64)?;
    let deadly = deadly(thread, wanted & !thread.signals.mask);
    thread.signals.awaited = wanted & FAULTS & thread.signals.mask;
    let slow = deadly != 0 || thread.signals.awaited != 0;
    let outcome = slow.then(|| match pending::take(thread, wanted) {
        Some(info) => Outcome::Done(tell(&info, args[1])),
        None => wait_in_vm(thread, args, deadly),
    });
    thread.signals.awaited = 0;
    outcome
}

/// The result of a wait that `info` has ended; `info` is written to `at` if that is not null.
fn tell(info: &SigInfo, at: usize) -> isize {
    if at == 0 || peek::write_value(at as u64, info) {
        info.signo as isize
    } else {
        Errno::EFAULT.raw()
    }
}

/// Those of `signals` whose disposition ends the process.
fn deadly(thread: &Thread, signals: u64) -> u64 {
    let _vm = vm::lock();
    let actions = &mut thread.process().actions;
    actions.learn(signals);
    (1..=MAX_SIGNAL)
        .filter(|s| signals & bit(*s) != 0 && default_kills(*s))
        .filter(|s| actions.get(*s).handler == DEFAULT)
        .fold(0, |set, signal| set | bit(signal))
}

fn wait_in_vm(thread: &mut Thread, args: &[usize; 6], deadly: u64) -> Outcome {
    let mut args = *args;
    let mut info = SigInfo::NONE;
    let at = core::mem::replace(&mut args[1], &raw mut info as usize);
    let outcome = super::outcome::pass_interruptible(thread, c::__NR_rt_sigtimedwait, &args);
    let Outcome::Done(signal @ 1..) = outcome else {
        return outcome;
    };
    if deadly & bit(signal as u32) != 0 {
        crate::signal::fatal::kill_at_boundary(thread, &info);
        return Outcome::Done(Errno::EINTR.raw());
    }
    Outcome::Done(tell(&pending::resolve_notification(thread, &info), at))
}

/// `MINSIGSTKSZ` of the kernel.
const MINSIGSTKSZ: u64 = c::MINSIGSTKSZ as u64;

fn sigaltstack(thread: &mut Thread, args: &[usize; 6]) -> isize {
    const ENOMEM: isize = Errno::ENOMEM.raw();
    let sp = thread.get(reg::RSP);
    let old = thread.signals.alt;
    if args[0] != 0 {
        let Some([base, flags, size]) = peek::read_value::<[u64; 3]>(args[0] as u64) else {
            return Errno::EFAULT.raw();
        };
        match new_stack(base, flags as u32, size) {
            _ if old.in_use(sp) => return Errno::EPERM.raw(),
            // (Disabling a stack that was never set needs no size.)
            Err(ENOMEM) if old.untouched && [base, flags, size] == [0; 3] => {}
            Err(error) => return error,
            Ok(alt) => thread.signals.alt = alt,
        }
    }
    if args[1] != 0 && !peek::write_value(args[1] as u64, &old.as_told(sp)) {
        return Errno::EFAULT.raw();
    }
    0
}

fn new_stack(base: u64, flags: u32, size: u64) -> Result<AltStack, isize> {
    let autodisarm = flags & SS_AUTODISARM != 0;
    let mode = flags & !SS_AUTODISARM;
    match mode {
        SS_DISABLE => Ok(AltStack {
            autodisarm,
            ..AltStack::default()
        }),
        0 | SS_ONSTACK if size < MINSIGSTKSZ => Err(Errno::ENOMEM.raw()),
        0 | SS_ONSTACK => Ok(AltStack {
            base,
            size,
            autodisarm,
            marked: mode == SS_ONSTACK,
            untouched: false,
        }),
        _ => Err(Errno::EINVAL.raw()),
    }
}

/// rt_sigreturn: the app returns from a handler. The kernel restores the state from a frame of the
/// VM that differs from the app's in pc and mask only.
fn sigreturn(thread: &mut Thread) -> Outcome {
    let at = thread.get(reg::RSP).wrapping_sub(8);
    let Some(app) = peek::read_value::<UContext>(at.wrapping_add(frame::CONTEXT)) else {
        crate::signal::fatal::no_stack(thread);
        return Outcome::Done(Errno::EFAULT.raw());
    };
    thread.signals.mask = app.sigmask & !UNCATCHABLE;
    restore_stack(thread, &app);
    pending::release(thread);
    thread.signals.trap_flag = TrapFlag::of(app.gregs[greg::FLAGS]);
    if !app.is_64_bit() {
        compat::return_to(thread, app)
    }
    let entry = back_to(thread, at, &app);
    ppin_process::gate::go_back(thread, app, entry.0)
}

/// The cache address at which the app goes on with the state `app`, after the handler whose frame was at
/// `frame`.
fn back_to(thread: &mut Thread, frame: u64, app: &UContext) -> CachePc {
    let pc = AppPc(app.gregs[greg::RIP]);
    let interrupted = thread.signals.recall(frame).filter(|i| i.pc == pc.0);
    let mut vm = vm::lock();
    if let Some(i) = interrupted.filter(|_| !thread.signals.trap_flag.traps())
        && let Some(inside) = Inside::find(&vm, thread, i.code, pc)
    {
        return inside.enter(thread, |number| app.gregs[greg::BY_NUMBER[number]]);
    }
    let continues = interrupted.is_some_and(|i| i.continues);
    let ctx = if continues && vm.tool().distinguishes_blocks() {
        Context::CONTINUATION
    } else {
        Context::CANONICAL
    };
    ppin_translate::lookup(&mut vm, pc, ctx)
}

/// The kernel's `restore_altstack`; errors are ignored, as there.
fn restore_stack(thread: &mut Thread, app: &UContext) {
    let [base, flags, size] = app.stack;
    if thread.signals.alt.in_use(app.gregs[greg::RSP]) {
        return;
    }
    if let Ok(alt) = new_stack(base, flags as u32, size) {
        thread.signals.alt = alt;
    }
}
