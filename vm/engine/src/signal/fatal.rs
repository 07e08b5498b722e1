//! Ends the process by a signal: new fragments are saved first, then the kernel takes the default
//! action.
//!
//! A filter may forbid the calls for that. Then such signals are left to the kernel in advance, and
//! a fault is repeated while its signal is blocked, which the kernel makes deadly, too
//! (`force_sig`).

use super::{dump, traps};
use ppin_abi::addr::AppPc;
use ppin_os::frame::{SigInfo, UContext, greg};
use ppin_os::signals::{self, KernelSigaction};
use ppin_os::{c, heap, peek, proc, report};
use ppin_process::report::diagnosis;
use ppin_process::signal::by_hand::returns_by_hand;
use ppin_process::signal::{DEFAULT, HOLD_ALL, bit, kernel_kills};
use ppin_process::thread::Thread;
use ppin_process::vm;

/// Arranges that a deadly fault at `context` is repeated with its signal blocked. `false`: that is
/// not necessary.
pub(crate) fn repeat(thread: &Thread, signal: u32, context: &mut UContext) -> bool {
    let way = kernel_kills::any() && !returns_by_hand();
    if way {
        if !thread.borrowed_memory {
            crate::life::end::of_process(&mut vm::lock());
        }
        context.sigmask |= bit(signal);
        if traps::is_behind(signal, context) {
            context.gregs[greg::RIP] -= trap_len(context.gregs[greg::RIP]);
        }
    }
    way
}

/// Length of the trap instruction that ends at `pc`.
fn trap_len(pc: u64) -> u64 {
    const INT_N: [[u8; 2]; 2] = [[0xcd, 3], [0xcd, 4]];
    const ONE_BYTE: [u8; 2] = [0xcc, 0xf1];
    match peek::read_value::<[u8; 2]>(pc - 2) {
        Some(int) if INT_N.contains(&int) => 2,
        Some([_, last]) if ONE_BYTE.contains(&last) => 1,
        _ => 0,
    }
}

/// Ends the process by the signal of `info` as if by its default action, with the program at `pc`
/// and its registers in `context`. Like exit ([`crate::thread::exit::process`]) it keeps the VM
/// lock, unless a core file is to show all threads.
pub(crate) fn die(thread: &mut Thread, context: &mut UContext, pc: AppPc, info: &SigInfo) {
    let signal = info.signo as u32;
    if dump::is_due(signal) {
        dump::die(thread, context, pc, info);
    }
    if thread.borrowed_memory {
        die_now(thread, signal, info)
    }
    let mut vm = vm::lock();
    crate::life::end::of_process(&mut vm);
    die_now(thread, signal, info)
}

/// Ends the process by the signal of `info` when the thread, which is in the VM, reaches its next
/// boundary.
pub(crate) fn kill_at_boundary(thread: &mut Thread, info: &SigInfo) {
    signals::set_mask(HOLD_ALL);
    (thread.signals.waiting, thread.signals.waiting_kills) = (*info, true);
    thread.pending = 1;
}

/// Ends the process by the signal without saving.
fn die_now(thread: &Thread, signal: u32, info: &SigInfo) -> ! {
    if kernel_kills::any() {
        overflow(thread.signals.stack.0);
    }
    let default = KernelSigaction {
        handler: DEFAULT,
        ..KernelSigaction::default()
    };
    // SAFETY: no handler is installed.
    let _ = unsafe { signals::sigaction(signal, Some(&default)) };
    signals::queue_to_self(info);
    signals::set_mask(!bit(signal));
    signals::raise(signal);
    proc::exit_group(128 + signal as i32)
}

/// Dies of `SIGSEGV` without a system call: by a fault when there is no room on the signal stack,
/// whose lowest address is `bottom`.
fn overflow(bottom: u64) -> ! {
    const ROOM: u64 = 512;
    // SAFETY: does not return.
    unsafe { core::arch::asm!("mov rsp, {}", "hlt", in(reg) bottom + ROOM, options(noreturn)) }
}

/// The app's frame for sigreturn cannot be read: the kernel forces SIGSEGV.
pub(crate) fn no_stack(thread: &mut Thread) {
    kill_at_boundary(thread, &SigInfo::fault(c::SIGSEGV, c::SI_KERNEL as i32, 0));
}

/// Handles a fault inside ppin itself. The program's state is lost: reports the fault, and dies of
/// it.
pub(crate) fn crash(thread: &mut Thread, signal: u32, info: &SigInfo, context: &UContext) {
    let pc = context.gregs[greg::RIP];
    if ppin_translate::sequence::rejected(thread, info) {
        // The app's own fault: the kernel rejects its rseq area.
        die_now(thread, signal, info);
    }
    if heap::is_stuck() {
        report::memory_is_damaged(signal);
    }
    let (code, address, place) = (info.code, info.rest[0], vm::describe(pc));
    let what = format_args!(
        "ppin: internal error: signal {signal} (code {code}, address {address:#x}) at {place} \
         in thread {}",
        thread.tid,
    );
    diagnosis::say(what, Some(thread), Some(pc));
    die_now(thread, signal, info);
}
