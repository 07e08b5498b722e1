//! Syscall User Dispatch (prctl(2), `PR_SET_SYSCALL_USER_DISPATCH`): calls from outside a range of
//! code are dispatched back to the program as `SIGSYS`, while a byte of the program says so.
//! Emulators of other systems use it.
//!
//! The kernel would judge by the address of the call, which is the gate's. So from the first use on
//! all calls of the process enter the VM, which judges them by the address that the program called
//! from.

use super::outcome::Outcome;
use crate::signal::fatal;
use ppin_os::frame::SigInfo;
use ppin_os::{Errno, c, peek, signals};
use ppin_process::gate::table;
use ppin_process::signal::{DEFAULT, HOLD_ALL, IGNORE, bit};
use ppin_process::thread::user_dispatch::UserDispatch;
use ppin_process::thread::{Thread, reg};

const OFF: usize = c::PR_SYS_DISPATCH_OFF as usize;
const EXCLUSIVE: usize = c::PR_SYS_DISPATCH_EXCLUSIVE_ON as usize;
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;
/// Above the last address of a program.
const TASK_SIZE: usize = 0x7fff_ffff_f000;

/// The app's `prctl`.
pub(crate) fn set(thread: &mut Thread, args: &[usize; 6]) -> isize {
    let [_, mode, offset, len, selector, _] = *args;
    if mode == OFF {
        let result = ask_kernel(args, selector);
        if result == 0 {
            thread.user_dispatch = UserDispatch::default();
        }
        return result;
    }
    let allow = ALLOW;
    let result = ask_kernel(args, core::ptr::from_ref(&allow) as usize);
    if result != 0 {
        return result;
    }
    if ask_kernel(&[args[0], OFF, 0, 0, 0, 0], 0) != 0 {
        return Errno::EINVAL.raw();
    }
    if selector >= TASK_SIZE {
        return Errno::EFAULT.raw();
    }
    let (start, len) = if mode == EXCLUSIVE {
        (offset, len)
    } else {
        (offset.wrapping_add(len), len.wrapping_neg())
    };
    thread.user_dispatch = UserDispatch {
        on: true,
        start: start as u64,
        len: len as u64,
        selector: selector as u64,
    };
    table::watch_all_for_good();
    0
}

/// Has the kernel check the arguments, with a byte of the VM that lets all calls pass.
fn ask_kernel(args: &[usize; 6], selector: usize) -> isize {
    super::outcome::pass(
        c::__NR_prctl,
        &[args[0], args[1], args[2], args[3], selector, 0],
    )
}

/// Handles call `nr`, made just before `thread.resume_pc`, if it is not to be made.
pub(crate) fn decide(thread: &mut Thread, nr: u32) -> Option<Outcome> {
    let setting = thread.user_dispatch;
    if setting.exempts(thread.resume_pc) {
        return None;
    }
    let says = if setting.selector == 0 {
        Some(BLOCK)
    } else {
        peek::read_value::<[u8; 1]>(setting.selector).map(|[b]| b)
    };
    match says {
        Some(ALLOW) => return None,
        Some(BLOCK) => {}
        Some(_) => return Some(die(thread, c::SIGSYS)),
        None => return Some(die(thread, c::SIGSEGV)),
    }
    Some(hand_back(thread, nr))
}

/// Ends the process by `signal` without asking a handler (the kernel's `force_exit_sig`).
fn die(thread: &mut Thread, signal: u32) -> Outcome {
    die_of(thread, &SigInfo::fault(signal, c::SI_KERNEL as i32, 0))
}

fn die_of(thread: &mut Thread, info: &SigInfo) -> Outcome {
    fatal::kill_at_boundary(thread, info);
    Outcome::Done(thread.get(reg::RAX) as isize)
}

/// Raises `SIGSYS` after the call, which was not made: rax keeps its value.
fn hand_back(thread: &mut Thread, nr: u32) -> Outcome {
    let mut info = SigInfo::fault(c::SIGSYS, c::SYS_USER_DISPATCH as i32, thread.resume_pc);
    info.rest[1] = u64::from(nr) | u64::from(c::AUDIT_ARCH_X86_64) << 32;
    let handler = thread.process().actions.get(c::SIGSYS).handler;
    let blocked = thread.signals.mask & bit(c::SIGSYS) != 0;
    if blocked || matches!(handler, DEFAULT | IGNORE) {
        return die_of(thread, &info);
    }
    signals::set_mask(HOLD_ALL);
    if thread.pending != 0 {
        return Outcome::Again;
    }
    thread.signals.waiting = info;
    thread.pending = 1;
    Outcome::Done(thread.get(reg::RAX) as isize)
}
