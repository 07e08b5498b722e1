//! Calls of routines, for the instruction at hand.
//!
//! ```text
//!          mov gs:[Spill::Rcx], rcx
//!          lea rcx, [rip + record]
//!          jmp gs:[Entry::Bridge]
//!  resume:                                  all app registers in place again
//! ```
//! In a restartable sequence the thread was elsewhere meanwhile: an interruption there has
//! made the kernel forget the sequence, and aborts it here.
//!
//! ```text
//!          mov rcx, gs:[Rseq::armed]; jrcxz ok
//!          mov rcx, [the registered field]; jrcxz gone
//!          jmp ok
//!  gone:   jmp abort
//!  ok:
//! ```

use super::announce::{ARMED, FIELD};
use ppin_abi::area::Entry;
use ppin_abi::record::{ArgKind, CallArg, NO_REG};
use ppin_api::compiler::Destination;
use ppin_form::{Form, Gpr, InsId, Need, Op, Record, Width};

/// The call of `routine` with `args`.
pub fn lower(form: &mut Form, ins: InsId, routine: u16, args: impl Iterator<Item = CallArg>) {
    let first = form.args.len() as u32;
    form.args.extend(args);
    let args = first..form.args.len() as u32;
    let [record] = form.take([Need::fixed(Gpr::RCX)]);
    form.record(record, Record::Call { ins, routine, args });
    form.jump(Entry::Bridge);
    form.gone(&[record]);
    if form.sequence.is_some_and(|slots| slots.protected) {
        still_announced(form);
    }
}

/// What stands in the arguments of a call between those of a routine that decides and those of
/// `routine`, which is called if it says yes.
pub fn then(routine: u16) -> CallArg {
    CallArg {
        kind: ArgKind::Then as u8,
        base: NO_REG,
        index: NO_REG,
        scale_seg: 0,
        value: [routine.into(), 0],
    }
}

/// What stands behind the arguments of a routine whose result becomes `destination`.
pub fn into(destination: Destination) -> CallArg {
    CallArg {
        kind: ArgKind::Into as u8,
        base: destination.number(),
        index: NO_REG,
        scale_seg: 0,
        value: [0; 2],
    }
}

fn still_announced(form: &mut Form) {
    let [temp] = form.take([Need::fixed(Gpr::RCX)]);
    let (to, width) = (temp.into(), Width::W64);
    let [gone, ok] = [(); 2].map(|()| form.label());
    let cell = ARMED;
    form.push(Op::LoadCell { to, cell, width });
    form.push(Op::IfZero { temp, to: ok });
    let cell = FIELD;
    form.push(Op::LoadCell { to, cell, width });
    form.push(Op::Load { to, base: to });
    form.push(Op::IfZero { temp, to: gone });
    form.push(Op::Goto { to: ok });
    form.place(gone, &[temp]);
    form.push(Op::Abort);
    form.place(ok, &[temp]);
    form.give(&[temp]);
}
