//! Code in segments of 32 or 16 bits: compatibility mode (AMD manual volume 2, 1.3),
//! which a far branch, `iret` or the return from a signal handler leads to and from.
//!
//! The compiler translates 64-bit code only, and tools know no other. So code in such segments runs
//! natively, single-stepped under the trap flag, until it returns to 64-bit code; signals are
//! delivered between two steps. System calls go to the kernel as they are; those that the VM must
//! handle are examined before.

use super::waiting::deliver_waiting;
use super::{deliver, flag_code, native, step, traps};
use crate::life::end;
use crate::syscall::old_calls::{self, Way};
use crate::syscall::pages::Pages;
use ppin_abi::addr::AppPc;
use ppin_abi::boot::flag;
use ppin_os::frame::{SigInfo, UContext, greg};
use ppin_os::report::give_up;
use ppin_os::{c, call, filter, peek, signals};
use ppin_process::signal::native::Native;
use ppin_process::signal::trap_flag::TRAP_FLAG;
use ppin_process::signal::{HOLD_ALL, kernel_mask};
use ppin_process::thread::Thread;
use ppin_process::translate::Spot;
use ppin_process::{gate, vm};
use ppin_translate::changes;

/// Selector bit of segments in the program's own table (modify_ldt(2)).
const LOCAL: u64 = 4;

/// Prepares the next step of 32-bit or 16-bit code at the state in `context`. The app's gs is
/// loaded.
pub(crate) fn go_on(thread: &mut Thread, context: &mut UContext) {
    let pc = context.gregs[greg::RIP];
    if vm::lock().config().flags & flag::LOCKSTEP != 0 {
        give_up(format_args!(
            "the program has switched to 32-bit code at {pc:#x}, which --check cannot compare"
        ));
    }
    thread.signals.native = Native::Compat;
    thread.signals.native_pc = linear(context);
    context.gregs[greg::FLAGS] |= TRAP_FLAG;
    if is_system_call(thread.signals.native_pc) {
        before_call(thread, context);
    }
}

/// Like [`go_on`], when the app's gs is not loaded yet.
pub(crate) fn resume(thread: &mut Thread, context: &mut UContext) {
    thread.load_app_gs();
    go_on(thread, context);
}

/// Returns from an app handler to 32-bit or 16-bit code with the state `context`. The kernel loads
/// it, and checks it.
pub(crate) fn return_to(thread: &mut Thread, mut context: UContext) -> ! {
    // With the app's gs loaded, no signal may arrive before the next step.
    signals::set_mask(HOLD_ALL);
    context.sigmask = if thread.pending == 0 {
        kernel_mask(thread.signals.mask)
    } else {
        HOLD_ALL
    };
    context.stack = [thread.signals.stack.0, 0, thread.signals.stack.1];
    resume(thread, &mut context);
    // SAFETY: a complete frame.
    unsafe { gate::sigreturn(&raw mut context) }
}

/// Handles a fault or trap in such code, or after the instruction that led to 64-bit code.
pub(crate) fn step(thread: &mut Thread, signal: u32, info: &SigInfo, context: &mut UContext) {
    let from = thread.signals.native_pc;
    let trapped = traps::ends_step(signal, info, context);
    if trapped {
        note_flag(thread, context, from);
    }
    let due = thread.signals.trap_flag.traps();
    if trapped && !due && thread.pending == 0 && !context.is_64_bit() {
        return go_on(thread, context);
    }
    thread.save_app_gs();
    thread.signals.native = Native::Off;
    let spot = Spot::at(AppPc(context.gregs[greg::RIP]));
    if !trapped {
        context.gregs[greg::FLAGS] &= !TRAP_FLAG;
        deliver::deliver(thread, context, info, &spot, true);
    } else if due {
        step::trap(thread, context, &spot);
    } else if thread.pending != 0 {
        context.gregs[greg::FLAGS] &= !TRAP_FLAG;
        deliver_waiting(thread, context, &spot);
    } else {
        native::done(thread, context, spot.pc);
    }
}

/// Updates the app's trap flag if the instruction at `from` has loaded it, or hides the VM's if it
/// has stored it.
fn note_flag(thread: &mut Thread, context: &UContext, from: u64) {
    if flag_code::is(from, flag_code::POPF) || native::loads_flags(from) {
        thread.signals.trap_flag.on = context.gregs[greg::FLAGS] & TRAP_FLAG != 0;
    } else if flag_code::is(from, flag_code::PUSHF) && !thread.signals.trap_flag.on {
        flag_code::hide(context.gregs[greg::RSP]);
    }
}

/// Address of the next instruction.
fn linear(context: &UContext) -> u64 {
    let pc = context.gregs[greg::RIP];
    let selector = u64::from(context.code_segment());
    if selector & LOCAL == 0 {
        return pc;
    }
    u64::from((pc as u32).wrapping_add(base_of_local(selector >> 3)))
}

/// Base of entry `n` of the program's own table; 0 if there is none.
fn base_of_local(n: u64) -> u32 {
    const READ: usize = 0;
    const ENTRIES: usize = 1024;
    let mut table = alloc::vec![[0u8; 8]; ENTRIES.min(n as usize + 1)];
    let args = [READ, table.as_mut_ptr() as usize, 8 * table.len(), 0, 0, 0];
    // SAFETY: the kernel writes at most that many bytes.
    let _ = unsafe { call(c::__NR_modify_ldt, args) };
    let [.., low, middle, high, _, _, top] = table.get(n as usize).copied().unwrap_or_default();
    u32::from_le_bytes([low, middle, high, top])
}

/// `int 0x80` or `sysenter`.
fn is_system_call(pc: u64) -> bool {
    matches!(
        peek::read_value::<[u8; 2]>(pc),
        Some([0xcd, 0x80] | [0x0f, 0x34])
    )
}

/// Called before the kernel makes the system call.
fn before_call(thread: &mut Thread, context: &UContext) {
    let registers = greg::BY_NUMBER.map(|register| context.gregs[register]);
    let filtered = filter::of(&thread.area).is_some();
    match old_calls::way(&registers) {
        Way::Natively => {}
        Way::As(c::__NR_exit_group, _) => end::of_process(&mut vm::lock()),
        Way::As(c::__NR_exit, _) if vm::lock().threads().len() == 1 => {
            end::of_process(&mut vm::lock());
        }
        Way::As(c::__NR_munmap | c::__NR_mprotect | c::__NR_madvise, args) if !filtered => {
            if let Some(pages) = Pages::new(args[0], args[1]) {
                let (start, end) = pages.bounds();
                changes::range(&mut vm::lock(), start, end);
            }
        }
        _ => give_up(format_args!(
            "{:#x}: this system call of 32-bit code cannot be followed",
            context.gregs[greg::RIP]
        )),
    }
}
