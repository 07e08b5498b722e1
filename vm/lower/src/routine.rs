//! Calls of plain analysis routines, without entering the VM.
//!
//! ```text
//!          mov gs:[slot], rdi ...           registers of arguments, rax if flags are alive
//!          lahf; seto al                    if flags are alive
//!          lea rdi, [...] ...               the arguments
//!          mov gs:[Calls::APP_SP], rsp
//!          mov rsp, gs:[Calls::STACK]
//!          call gs:[Calls::routine]         keeps all other registers
//!          mov rsp, gs:[Calls::APP_SP]
//!          cmp gs:[Calls::RESULT], 0        if the routine decides: jne to the call behind all
//!          jne then                         the rest, with the app's values put back
//!          add al, 127; sahf
//!          mov rdi, gs:[slot] ...
//!          mov reg, gs:[Calls::RESULT]      if its result is put into a register of the app
//! ```
//! Arguments are computed in such an order that registers of the app that they are made of have
//! not been overwritten by others, if there is one; else these are taken from where they are kept.

use alloc::vec::Vec;
use ppin_abi::area::{APP_GS_BASE, Calls};
use ppin_api::compiler::Value;
use ppin_api::{Address, Segment, StateId};
use ppin_form::{
    ARGUMENTS, Cell, Form, Gpr, InsId, Label, Need, Op, Reg, RegSet, Temp, Temps, Width,
};

/// What is known of the place of a call.
#[derive(Clone, Copy)]
pub struct Place {
    /// Whether flags are alive.
    pub flags: bool,
    /// Registers that need not be kept: nobody looks at them, no call of the place either.
    pub free: RegSet,
}

/// Registers of the app that `values` are made of.
pub fn sources(values: &[Value]) -> RegSet {
    values
        .iter()
        .fold(RegSet::NONE, |set, value| set.or(sources_of(*value)))
}

fn sources_of(value: Value) -> RegSet {
    let set = |reg: Option<ppin_api::Reg>| {
        reg.map_or(RegSet::NONE, |reg| RegSet::NONE.with(Gpr::new(reg as u8)))
    };
    match value {
        Value::Reg(reg) => set(Some(reg)),
        Value::Memory(Address::Sum { base, index, .. }) => set(base).or(set(index)),
        _ => RegSet::NONE,
    }
}

/// The call of `routine` with `values`.
pub fn lower(form: &mut Form, routine: u16, values: &[Value], place: Place) {
    call(form, (routine, values), place, None);
}

/// The same, and its result in `register` of the app. Nothing at the place may have taken that
/// register without keeping it.
pub fn lower_into(form: &mut Form, called: (u16, &[Value]), place: Place, register: ppin_api::Reg) {
    call(form, called, place, None);
    load(form, Reg::App(Gpr::new(register as u8)), Calls::RESULT);
}

/// The call of `routine` with `values`, and then, unless it returns 0, what `then` writes: out of
/// the way, behind all the rest.
pub fn lower_if(
    form: &mut Form,
    ins: InsId,
    called: (u16, &[Value]),
    place: Place,
    then: Then<'_>,
) {
    let decided = condition(form, called, place);
    let done = form.label();
    form.place(done, &[]);
    form.aside(ins, |form| {
        decided.arrive(form);
        then(form);
        form.push(Op::GotoBack { to: done });
    });
}

/// What is done if a routine says yes, with all of the app's values in place.
pub type Then<'a> = &'a dyn Fn(&mut Form);

/// The way behind a call that said yes.
pub(super) struct Decided {
    /// Where it begins.
    to: Label,
    /// What is alive there, and what of that keeps flags.
    temps: Temps,
    flags: Option<Temp>,
}

impl Decided {
    pub(super) const fn new(to: Label, temps: Temps, flags: Option<Temp>) -> Self {
        Self { to, temps, flags }
    }

    /// Begins it: puts the app's values back.
    pub(super) fn arrive(&self, form: &mut Form) {
        form.place_with(self.to, self.temps);
        if self.flags.is_some() {
            form.push(Op::FlagsKept);
        }
        give(form, self.temps, self.flags);
    }
}

/// The call of a routine that decides: goes on if it says no.
pub(super) fn condition(form: &mut Form, called: (u16, &[Value]), place: Place) -> Decided {
    let to = form.label();
    let (temps, flags) = call(form, called, place, Some(to));
    Decided { to, temps, flags }
}

/// Ends the lives of `temps`, of which `flags` keeps the flags.
pub(super) fn give(form: &mut Form, temps: Temps, flags: Option<Temp>) {
    if let Some(from) = flags {
        form.push(Op::RestoreFlags { from, dead: false });
    }
    form.give_all(temps);
}

/// A call, behind which a result that is not 0 leads to `then`; what it has taken, and where the
/// flags were kept.
fn call(
    form: &mut Form,
    (routine, values): (u16, &[Value]),
    place: Place,
    then: Option<Label>,
) -> (Temps, Option<Temp>) {
    let count = values.len();
    let mut needs: Vec<Need> = ARGUMENTS[..count]
        .iter()
        .map(|register| Need::fixed(*register).or_free(place.free))
        .collect();
    if place.flags {
        needs.push(Need::fixed(Gpr::RAX).or_free(place.free));
    }
    let scratch = values.iter().any(|value| needs_scratch(*value));
    if scratch {
        let any = RegSet::ANY.minus(RegSet::of(&[Gpr::RAX]));
        needs.push(Need::one_of(any).or_free(place.free));
    }
    let temps = form.take_all(&needs);
    let temp = |at: usize| Temp(temps.first + at as u16);
    if place.flags {
        form.push(Op::SaveFlags { to: temp(count) });
    }
    let scratch = scratch.then(|| temp(needs.len() - 1));
    compute(form, values, temps.first, scratch, overwritten(place.flags));
    let args = Temps {
        len: count as u16,
        ..temps
    };
    form.push(Op::CallRoutine { routine, args });
    if let Some(to) = then {
        form.push(Op::IfResult { to });
    }
    let flags = place.flags.then(|| temp(count));
    give(form, temps, flags);
    (temps, flags)
}

/// Whether a second register may be needed.
pub(super) fn needs_scratch(value: Value) -> bool {
    match value {
        Value::Memory(Address::Sum {
            segment,
            base,
            index,
            ..
        }) => segment.is_some() || base.is_some() && index.is_some(),
        _ => false,
    }
}

/// Registers of the app that are only where they are kept when arguments are computed.
pub(super) fn overwritten(flags_kept: bool) -> RegSet {
    if flags_kept {
        RegSet::NONE.with(Gpr::RAX)
    } else {
        RegSet::NONE
    }
}

/// The arguments `values`, in temporaries from `first` on. Registers of the app in `written` are
/// only where they are kept.
fn compute(
    form: &mut Form,
    values: &[Value],
    first: u16,
    scratch: Option<Temp>,
    mut written: RegSet,
) {
    let mut pending: Vec<usize> = (0..values.len()).collect();
    while !pending.is_empty() {
        let unneeded = |at: &usize| {
            let mut others = pending.iter().filter(|other| *other != at);
            !others.any(|other| sources_of(values[*other]).contains(ARGUMENTS[*at]))
        };
        let next = pending.iter().position(unneeded).unwrap_or(0);
        let at = pending.remove(next);
        let to = Temp(first + at as u16);
        one(form, to, values[at], written, scratch);
        written = written.with(ARGUMENTS[at]);
    }
}

/// `to = value`; registers of the app in `written` are only where they are kept.
pub(super) fn one(form: &mut Form, to: Temp, value: Value, written: RegSet, scratch: Option<Temp>) {
    let reg = Reg::Temp(to);
    match value {
        Value::Const(value) => constant(form, reg, value),
        Value::App(off) | Value::Memory(Address::Image(off)) => {
            form.push(Op::LoadApp { to: reg, off });
        }
        Value::Reg(register) => copy(form, reg, Gpr::new(register as u8), written),
        Value::ThreadId => load(form, reg, Calls::THREAD),
        Value::State(StateId(id)) => load(form, reg, Calls::state(id)),
        Value::Memory(Address::Sum { .. }) => sum(form, to, value, written, scratch),
    }
}

pub(super) fn load(form: &mut Form, to: Reg, disp: u32) {
    let (cell, width) = (Cell::at(disp.cast_signed()), Width::W64);
    form.push(Op::LoadCell { to, cell, width });
}

pub(super) fn constant(form: &mut Form, to: Reg, value: u64) {
    let [low, high] = [value as u32, (value >> 32) as u32];
    form.push(match i32::try_from(value.cast_signed()) {
        _ if high == 0 => Op::Set {
            to,
            value: low.cast_signed(),
            width: Width::W32,
        },
        Ok(value) => Op::Set {
            to,
            value,
            width: Width::W64,
        },
        Err(_) => Op::SetWide { to, low, high },
    });
}

fn copy(form: &mut Form, to: Reg, from: Gpr, written: RegSet) {
    let from_app = Reg::App(from);
    if written.contains(from) {
        form.push(Op::Move { to, from: from_app });
    } else {
        plain(form, to, Some(from_app), 0);
    }
}

pub(super) fn plain(form: &mut Form, to: Reg, base: Option<Reg>, disp: i32) {
    form.push(Op::Address {
        to,
        base,
        index: None,
        scale: 0,
        narrow: false,
        disp,
    });
}

fn sum(form: &mut Form, to: Temp, value: Value, written: RegSet, scratch: Option<Temp>) {
    let Value::Memory(Address::Sum {
        segment,
        base,
        index,
        scale,
        displacement,
        narrow,
    }) = value
    else {
        return;
    };
    let to = Reg::Temp(to);
    let app = |reg: Option<ppin_api::Reg>| reg.map(|reg| Reg::App(Gpr::new(reg as u8)));
    let (mut base, mut index) = (app(base), app(index));
    let disp = if narrow {
        Some((displacement as u32).cast_signed())
    } else {
        i32::try_from(displacement.cast_signed()).ok()
    };
    let lost = |reg: &Option<Reg>| matches!(reg, Some(Reg::App(gpr)) if written.contains(*gpr));
    if lost(&base) || lost(&index) {
        let spare = if base.is_some() { scratch } else { None };
        move_to(form, &mut index, spare.map_or(to, Reg::Temp), written);
        move_to(form, &mut base, to, written);
    }
    match disp {
        Some(disp) => form.push(Op::Address {
            to,
            base,
            index,
            scale,
            narrow,
            disp,
        }),
        // A whole address in the instruction has no registers beside it.
        None => constant(form, to, displacement),
    }
    let (Some(segment), Some(scratch)) = (segment, scratch.map(Reg::Temp)) else {
        return;
    };
    match segment {
        Segment::Fs => form.push(Op::ReadFs { to: scratch }),
        Segment::Gs => load(form, scratch, APP_GS_BASE),
    }
    form.push(Op::Lea {
        to,
        base: to,
        index: Some(scratch),
        disp: 0,
    });
}

/// Puts the app's register `part` into `to`, which stands for it from now on.
fn move_to(form: &mut Form, part: &mut Option<Reg>, to: Reg, written: RegSet) {
    if let Some(Reg::App(register)) = *part {
        copy(form, to, register, written);
        *part = Some(to);
    }
}
