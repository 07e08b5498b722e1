//! Single steps: those of the VM to the next boundary, and the app's own, if it has set its trap
//! flag.
//!
//! While the app's flag is set, so is the CPU's: every instruction in the cache traps. At a
//! boundary after a completed app instruction the app gets its `SIGTRAP`; other traps are stepped
//! over. The VM runs with the flag clear; it is saved with the other flags. Where a `popf` sets it,
//! the compiler has put a `nop` after it, so that the first trap comes before any code of the next
//! instruction.

use super::flag_code::{POPF, PUSHF, hide, is};
use super::waiting::deliver_waiting;
use super::whereabouts::{Where, locate};
use super::{deliver, in_routine};
use ppin_os::c;
use ppin_os::frame::{SigInfo, UContext, greg};
use ppin_process::signal::trap_flag::{TRAP_FLAG, TRAP_TRACE};
use ppin_process::thread::Thread;
use ppin_process::translate::Spot;
use ppin_process::{gate, vm};

/// Steps to the next boundary.
pub(crate) fn begin(thread: &mut Thread, context: &mut UContext) {
    thread.signals.stepping = true;
    go_on(thread, context);
}

fn go_on(thread: &mut Thread, context: &mut UContext) {
    thread.signals.stepped_from = context.gregs[greg::RIP];
    context.gregs[greg::FLAGS] |= TRAP_FLAG;
}

fn stop(thread: &mut Thread, context: &mut UContext) {
    thread.signals.stepping = false;
    let flags = &mut context.gregs[greg::FLAGS];
    *flags = thread.signals.trap_flag.applied(*flags);
}

/// Called after one instruction under the trap flag.
pub(crate) fn stepped(thread: &mut Thread, context: &mut UContext) {
    if in_routine::is(thread, context) {
        return enter_routine(thread, context);
    }
    let pc = context.gregs[greg::RIP];
    let place = locate(thread, pc);
    if !matches!(place, Where::Vm) {
        note_effect(thread, context);
    }
    match place {
        Where::App(spot) if spot.boundary => at_boundary(thread, context, &spot),
        Where::App(_) | Where::Transit => {
            thread.signals.trap_flag.skip_next |= gate::behind_call(pc);
            go_on(thread, context);
        }
        Where::Vm if thread.signals.stepping => stop(thread, context),
        // (The VM clears the flag itself.)
        Where::Vm => {}
    }
}

/// Lets the routine that was stepped into run at once, and goes on with single steps behind it.
fn enter_routine(thread: &mut Thread, context: &mut UContext) {
    if thread.signals.stepping {
        stop(thread, context);
        in_routine::hold(thread);
    }
}

fn at_boundary(thread: &mut Thread, context: &mut UContext, spot: &Spot) {
    let flag = &mut thread.signals.trap_flag;
    // At the gate, the system call is about to be made, or has been made.
    let gate = vm::is_runtime(context.gregs[greg::RIP]);
    let standing = core::mem::take(&mut flag.skip_next) || gate;
    if flag.traps() && !standing {
        thread.signals.stepping = false;
        trap(thread, context, spot);
    } else if thread.signals.stepping && !spot.ahead {
        stop(thread, context);
        deliver_waiting(thread, context, spot);
    } else {
        go_on(thread, context);
    }
}

/// Delivers the app's own trap, after one of its instructions.
pub(crate) fn trap(thread: &mut Thread, context: &mut UContext, spot: &Spot) {
    thread.signals.trap_flag.one_more = false;
    let info = SigInfo::fault(c::SIGTRAP, TRAP_TRACE, spot.pc.0);
    deliver::deliver(thread, context, &info, spot, true);
}

/// Updates the trap flag state by the effect of the last instruction.
fn note_effect(thread: &mut Thread, context: &UContext) {
    let set = context.gregs[greg::FLAGS] & TRAP_FLAG != 0;
    let from = core::mem::take(&mut thread.signals.stepped_from);
    let stepping = thread.signals.stepping;
    let flag = &mut thread.signals.trap_flag;
    if flag.on {
        // (The VM has left it set, so the app has cleared it.)
        flag.one_more = !set;
        flag.on = set;
    } else if !stepping && !flag.one_more || set && is(from, POPF) {
        flag.on = true;
        flag.skip_next = true;
    } else if is(from, PUSHF) {
        hide(context.gregs[greg::RSP]);
    }
}
