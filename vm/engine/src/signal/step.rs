//! Single steps: ours, towards the next boundary, and the app's own, if it has set its
//! trap flag.
//!
//! While the app's flag is on, so is the CPU's: every instruction in the cache traps.
//! At a boundary behind a completed app instruction the app gets its `SIGTRAP`; all
//! else is stepped over. The VM runs without the flag, which is kept with the other
//! flags. Where a `popf` turns it on, the compiler has put a `nop` behind, so that
//! the first trap comes before anything of the next instruction.

use super::deliver;
use super::flag_code::{POPF, PUSHF, hide, is};
use super::waiting::deliver_waiting;
use super::whereabouts::{Where, locate};
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

/// After one instruction under the trap flag.
pub(crate) fn stepped(thread: &mut Thread, context: &mut UContext) {
    let pc = context.gregs[greg::RIP];
    let place = locate(thread, pc);
    if !matches!(place, Where::Vm) {
        notice(thread, context);
    }
    match place {
        Where::App(spot) if spot.boundary => at_boundary(thread, context, &spot),
        Where::App(_) | Where::Transit => {
            thread.signals.trap_flag.skip_next |= gate::behind_call(pc);
            go_on(thread, context);
        }
        Where::Vm if thread.signals.stepping => stop(thread, context),
        // The VM takes the flag away by itself.
        Where::Vm => {}
    }
}

fn at_boundary(thread: &mut Thread, context: &mut UContext, spot: &Spot) {
    let flag = &mut thread.signals.trap_flag;
    // At the gate the system call is about to be made, or has been.
    let gate = vm::is_runtime(context.gregs[greg::RIP]);
    let standing = core::mem::take(&mut flag.skip_next) || gate;
    if flag.traps() && !standing {
        thread.signals.stepping = false;
        trap(thread, context, spot);
    } else if thread.signals.stepping {
        stop(thread, context);
        deliver_waiting(thread, context, spot);
    } else {
        go_on(thread, context);
    }
}

/// The app's own trap, behind an instruction of it.
pub(crate) fn trap(thread: &mut Thread, context: &mut UContext, spot: &Spot) {
    thread.signals.trap_flag.one_more = false;
    let info = SigInfo::fault(c::SIGTRAP, TRAP_TRACE, spot.pc.0);
    deliver::deliver(thread, context, &info, spot, true);
}

/// Learns what the instruction just made did to the flag.
fn notice(thread: &mut Thread, context: &UContext) {
    let set = context.gregs[greg::FLAGS] & TRAP_FLAG != 0;
    let from = core::mem::take(&mut thread.signals.stepped_from);
    let stepping = thread.signals.stepping;
    let flag = &mut thread.signals.trap_flag;
    if flag.on {
        // We leave it set: it was the app that took it away.
        flag.one_more = !set;
        flag.on = set;
    } else if !stepping && !flag.one_more || set && is(from, POPF) {
        flag.on = true;
        flag.skip_next = true;
    } else if is(from, PUSHF) {
        hide(context.gregs[greg::RSP]);
    }
}
