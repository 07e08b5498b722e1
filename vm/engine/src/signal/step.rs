//! Single steps: ours, towards the next boundary, and the app's own, if it has set its
//! trap flag.
//!
//! While the app's flag is on, so is the CPU's: every instruction in the cache traps.
//! At a boundary behind a completed app instruction the app gets its `SIGTRAP`; all
//! else is stepped over. The VM runs without the flag, which is kept with the other
//! flags. Where a `popf` turns it on, the compiler has put a `nop` behind, so that
//! the first trap comes before anything of the next instruction.

use super::deliver;
use super::handler::{self, Where, locate};
use super::translate::Spot;
use crate::glue;
use crate::thread::Thread;
use crate::vm;
use ppin_os::frame::{SigInfo, UContext, greg};
use ppin_os::{c, peek};

/// TF in rflags.
pub const TRAP_FLAG: u64 = 0x100;
/// `si_code` of a single step.
pub const TRAP_TRACE: i32 = 2;

/// The app's trap flag.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrapFlag {
    /// It is on.
    pub on: bool,
    /// The next boundary is one that the app stands at already, or that no trap is due
    /// at (behind a system call).
    pub standing: bool,
    /// It has been turned off by the instruction at hand, behind which a trap is due.
    last: bool,
}

impl TrapFlag {
    /// As it is in `flags`.
    #[must_use]
    pub const fn of(flags: u64) -> Self {
        Self {
            on: flags & TRAP_FLAG != 0,
            standing: false,
            last: false,
        }
    }

    /// Whether app instructions trap.
    #[must_use]
    pub const fn traps(self) -> bool {
        self.on || self.last
    }

    /// What `flags` must be while the app runs.
    #[must_use]
    pub const fn applied(self, flags: u64) -> u64 {
        flags & !TRAP_FLAG | if self.traps() { TRAP_FLAG } else { 0 }
    }

    /// `flags` as the app sees them.
    #[must_use]
    pub const fn shown(self, flags: u64) -> u64 {
        flags & !TRAP_FLAG | if self.on { TRAP_FLAG } else { 0 }
    }
}

/// Steps to the next boundary.
pub fn begin(thread: &mut Thread, context: &mut UContext) {
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
pub fn stepped(thread: &mut Thread, context: &mut UContext) {
    let pc = context.gregs[greg::RIP];
    let place = locate(thread, pc);
    if !matches!(place, Where::Vm) {
        notice(thread, context);
    }
    match place {
        Where::App(spot) if spot.boundary => at_boundary(thread, context, &spot),
        Where::App(_) | Where::Transit => {
            thread.signals.trap_flag.standing |= glue::behind_call(pc);
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
    let standing = core::mem::take(&mut flag.standing) || gate;
    if flag.traps() && !standing {
        thread.signals.stepping = false;
        trap(thread, context, spot);
    } else if thread.signals.stepping {
        stop(thread, context);
        handler::deliver_waiting(thread, context, spot);
    } else {
        go_on(thread, context);
    }
}

/// The app's own trap, behind an instruction of it.
pub fn trap(thread: &mut Thread, context: &mut UContext, spot: &Spot) {
    thread.signals.trap_flag.last = false;
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
        flag.last = !set;
        flag.on = set;
    } else if !stepping && !flag.last || set && is(from, POPF) {
        flag.on = true;
        flag.standing = true;
    } else if is(from, PUSHF) {
        hide(context.gregs[greg::RSP]);
    }
}

/// `pushf`
pub const PUSHF: u8 = 0x9c;
/// `popf`
pub const POPF: u8 = 0x9d;

/// Whether the instruction at `pc` is `opcode`, with or without a prefix.
#[must_use]
pub fn is(pc: u64, opcode: u8) -> bool {
    const OPERAND_SIZE: u8 = 0x66;
    let bytes = peek::read_value::<[u8; 2]>(pc).unwrap_or_default();
    bytes[0] == opcode || bytes == [OPERAND_SIZE, opcode]
}

/// Takes our own trap flag out of the flags just pushed at `sp`.
pub fn hide(sp: u64) {
    const SECOND: u64 = 1;
    if let Some(byte) = peek::read_value::<u8>(sp + SECOND) {
        // It was written a moment ago.
        let _ = peek::write_value(sp + SECOND, &(byte & !1));
    }
}
