//! Core files that show the program, not the runtime.
//!
//! The kernel writes the registers with which each thread has entered it last, and all memory. So a
//! process that dies with a core file is left to itself before ([`crate::life::leave`]). Its
//! threads go on natively. The system calls they were waiting in are made again at the program's
//! own addresses. The runtime's memory is unmapped. The signal is delivered to the dying thread
//! when the kernel restores its registers.
//!
//! Where that is not possible (a thread waits for a vfork child, say), the rest is done as far as
//! possible: the runtime's memory is left out of the file, and the dying thread has the program's
//! registers.

use crate::life::end;
use crate::life::leave::last_steps::{LastSteps, keep_out_of_core};
use crate::life::leave::{gather, natively};
use alloc::vec::Vec;
use ppin_abi::addr::AppPc;
use ppin_abi::boot::flag;
use ppin_os::file::File;
use ppin_os::frame::{SigInfo, UContext};
use ppin_os::signals::{self, KernelSigaction};
use ppin_os::{Kernel, c, proc, raw};
use ppin_process::ours::{self, Range};
use ppin_process::signal::{DEFAULT, HOLD_ALL, HOLD_FAULTS_TOO, bit};
use ppin_process::thread::Thread;
use ppin_process::{vm, x87};
use ppin_translate::changes;

/// Whether a process that dies of `signal` now leaves a core file (core(5)).
#[must_use]
pub(crate) fn is_due(signal: u32) -> bool {
    ppin_process::signal::dumps_core(signal)
        && is_dumpable()
        && is_wanted(proc::limit(c::RLIMIT_CORE))
}

/// Whether the limit allows a core file. A core that is piped or sent to a program is written
/// whatever the limit is, except a limit of 1.
fn is_wanted(limit: u64) -> bool {
    match limit {
        0 => takes_all(),
        1 => false,
        _ => true,
    }
}

fn takes_all() -> bool {
    let pattern = File::open("/proc/sys/kernel/core_pattern", c::O_RDONLY, 0)
        .and_then(|file| file.read_all(256))
        .unwrap_or_default();
    matches!(pattern.first(), Some(b'|' | b'@'))
}

fn is_dumpable() -> bool {
    // SAFETY: only asks.
    unsafe { raw(c::__NR_prctl, [c::PR_GET_DUMPABLE as usize, 0, 0, 0, 0, 0]) != 0 }
}

/// Ends the process by the signal of `info`, with the program at `pc` and its registers in
/// `context`. Returns if that is impossible.
pub(crate) fn die(thread: &mut Thread, context: &mut UContext, pc: AppPc, info: &SigInfo) {
    let kernel = Kernel::of_this_thread();
    let possible = kernel.allows(c::__NR_rt_sigreturn) && kernel.allows(c::__NR_munmap);
    if !possible || vm::lock().config().flags & flag::LOCKSTEP != 0 {
        return;
    }
    // (The VM still handles faults while it reads the program's memory.)
    signals::set_mask(HOLD_ALL);
    x87::correct_frame(context.fpstate);
    let alone = if thread.borrowed_memory {
        false
    } else if gather::begin(thread) {
        leave_together(thread, info)
    } else {
        // Another thread is dying, or has the process leave; this thread dies with it.
        natively::dying_with_others(thread, context, info, pc)
    };
    expire(thread, context, pc, info, alone);
}

/// Saves, and lets the other threads go on natively; `false`: some may still use the runtime's
/// memory.
fn leave_together(thread: &Thread, info: &SigInfo) -> bool {
    end::of_process(&mut vm::lock());
    let halted = gather::halt_others(thread);
    changes::release_all(&mut vm::lock());
    signals::set_mask(HOLD_FAULTS_TOO);
    natively::give_back_actions(thread);
    make_default(info.signo as u32);
    let left = gather::leave(thread, gather::Verdict::Die);
    let shared = {
        let vm = vm::lock();
        let mut all = vm.threads().all();
        all.any(|it| it.borrowed_memory)
    };
    halted && left && !shared
}

fn make_default(signal: u32) {
    let default = KernelSigaction {
        handler: DEFAULT,
        ..KernelSigaction::default()
    };
    // SAFETY: no handler is installed.
    let _ = unsafe { signals::sigaction(signal, Some(&default)) };
}

/// Lets the kernel load the program's registers and deliver the signal with them. `alone`: no other
/// thread needs the runtime's memory.
fn expire(thread: &mut Thread, context: &mut UContext, pc: AppPc, info: &SigInfo, alone: bool) {
    let signal = info.signo as u32;
    signals::set_mask(HOLD_FAULTS_TOO);
    natively::make_native(thread, context, pc);
    context.sigmask = if thread.borrowed_memory {
        // (The dispositions are still the VM's.)
        make_default(signal);
        HOLD_FAULTS_TOO
    } else {
        context.sigmask
    } & !bit(signal);
    let ours: Vec<Range> = ours::all(&vm::lock()).collect();
    let unmapped = if alone { &ours[..] } else { &[] };
    let Some(steps) = LastSteps::new(context, unmapped, &gather::frames(thread)) else {
        return;
    };
    ours.into_iter().for_each(keep_out_of_core);
    keep_out_of_core(steps.range());
    signals::queue_to_self(info);
    // (In case a filter forbids to queue a signal.)
    signals::raise(signal);
    thread.load_app_gs();
    // SAFETY: all signals are blocked; other threads in this memory have left the runtime.
    unsafe { steps.take() }
}
