//! Analysis routines that have become a part of translated code.
//!
//! ```text
//!          mov gs:[slot], t ...             registers of the body, rax if flags are alive
//!          lahf; seto al                    if the body destroys flags that are alive
//!          ...                              the body on temporaries, its arguments computed first
//!          add al, 127; sahf
//!          mov t, gs:[slot] ...
//!  done:
//!          ...
//!  cold:   add al, 127; sahf; mov t, ...    behind all the rest: rare ways of the body
//!          the call of the routine; jmp done
//! ```
//! One that decides goes to the cold part, too, if it says yes: what is to be done then stands there.

use super::routine::{self, Decided, Place, Then, constant, give, load, one, plain};
use alloc::vec::Vec;
use ppin_abi::area::Calls;
use ppin_api::Address;
use ppin_api::compiler::Value;
use ppin_form::{Form, Gpr, InsId, Label, LiftedUses, Need, Op, Reg, RegSet, Temp, Temps};
use ppin_lift::Body;
use ppin_lift::body::{End, Lifted, Path, Step};

/// A routine in line, for `ins`; `then`: what is done if it says yes.
pub fn lower(
    form: &mut Form,
    ins: InsId,
    (number, values): (u16, &[Value]),
    body: &Body,
    place: Place,
    then: Option<Then<'_>>,
) {
    if body.path.steps.is_empty() && matches!(body.path.end, End::Done) {
        return;
    }
    let flagless = if place.flags && body.flags {
        body.without_flags()
    } else {
        None
    };
    let body = flagless.as_ref().unwrap_or(body);
    let saves = place.flags && body.flags;
    let wanted = Wanted::of(body, values, place, saves);
    let temps = form.take_all(&wanted.needs);
    let temp = |at: usize| Temp(temps.first + at as u16);
    let (flags, scratch) = (wanted.flags.map(temp), wanted.scratch.map(temp));
    let mut inlining = Inlining {
        temps,
        virtuals: wanted.virtuals,
        number,
        values,
        scratch,
        written: routine::overwritten(saves),
        end: None,
        then: None,
        cold: None,
    };
    if let Some(to) = flags {
        form.push(Op::SaveFlags { to });
    }
    inlining.path(form, &body.path, true);
    if let Some(end) = inlining.end {
        form.place_with(end, temps);
    }
    give(form, temps, flags);
    let way = |to: Label| Decided::new(to, temps, flags);
    let (cold, yes) = (inlining.cold.map(way), inlining.then.map(way));
    if cold.is_some() || yes.is_some() {
        let done = form.label();
        form.place(done, &[]);
        form.aside(ins, |form| {
            let call = (number, values, place);
            aside(form, call, (cold, yes), then, done);
        });
    }
}

/// What a body needs registers for.
struct Wanted {
    needs: Vec<Need>,
    /// Its registers, in the order of their needs, which come first.
    virtuals: Vec<u8>,
    /// Which need is that of the flags, and that of a register for values.
    flags: Option<usize>,
    scratch: Option<usize>,
}

impl Wanted {
    /// `saves`: flags are alive that the body destroys.
    fn of(body: &Body, values: &[Value], place: Place, saves: bool) -> Self {
        let virtuals = in_order(body);
        let unfixed = (body.registers & !body.fixed).count_ones() as usize + 1;
        let taken = fixed(body, saves);
        let any = Need::one_of(
            borrowed(unfixed, taken.or(routine::sources(values))).or(place.free.minus(taken)),
        );
        let need = |n: &u8| match body.fixed & 1 << n {
            0 => any,
            _ => Need::fixed(Gpr::new(*n)),
        };
        let own = virtuals.iter().map(need);
        let mut needs: Vec<Need> = own.map(|need| need.or_free(place.free)).collect();
        let flags = saves.then_some(needs.len());
        if saves {
            needs.push(Need::fixed(Gpr::RAX).or_free(place.free));
        }
        let lost = saves && routine::sources(values).contains(Gpr::RAX);
        let second = |value: &Value| has_segment(value) || lost && routine::needs_scratch(*value);
        let scratch = values.iter().any(second).then_some(needs.len());
        if scratch.is_some() {
            needs.push(any.or_free(place.free));
        }
        Self {
            needs,
            virtuals,
            flags,
            scratch,
        }
    }
}

/// What stands behind all the rest, and goes on at `done`: the call of the routine where the body takes a
/// rare way, and what is done where the routine says yes.
fn aside(
    form: &mut Form,
    (number, values, place): (u16, &[Value], Place),
    (cold, yes): (Option<Decided>, Option<Decided>),
    then: Option<Then<'_>>,
    done: Label,
) {
    match (cold, then) {
        (Some(cold), None) => {
            cold.arrive(form);
            routine::lower(form, number, values, place);
            form.push(Op::GotoBack { to: done });
        }
        (cold, Some(then)) => {
            let called = cold.map(|cold| {
                cold.arrive(form);
                let called = routine::condition(form, (number, values), place);
                form.push(Op::GotoBack { to: done });
                called
            });
            arrive(form, called, yes);
            then(form);
            form.push(Op::GotoBack { to: done });
        }
        (None, None) => {}
    }
}

/// Where both ways to what is done come together, of those that there are.
fn arrive(form: &mut Form, called: Option<Decided>, yes: Option<Decided>) {
    match (called, yes) {
        (Some(called), Some(yes)) => {
            let to = form.label();
            called.arrive(form);
            form.push(Op::GotoFar { to });
            yes.arrive(form);
            form.place(to, &[]);
        }
        (one, other) => {
            if let Some(only) = one.or(other) {
                only.arrive(form);
            }
        }
    }
}

/// The `count` registers that compiled code uses least, others than `taken`: where memory behind
/// `gs` is not renamed, the app waits for a register that comes back, but only if it needs it soon.
fn borrowed(count: usize, taken: RegSet) -> RegSet {
    const ORDER: [u8; 15] = [11, 10, 9, 8, 15, 14, 13, 12, 7, 6, 2, 1, 0, 3, 5];
    let all = ORDER.into_iter().map(Gpr::new);
    let open = all.filter(|register| !taken.contains(*register));
    open.take(count).fold(RegSet::NONE, RegSet::with)
}

/// Virtual registers of `body`, those first that must be certain registers.
fn in_order(body: &Body) -> Vec<u8> {
    let of = |set: u16| (0..16).filter(move |n| set & 1 << n != 0);
    of(body.fixed)
        .chain(of(body.registers & !body.fixed))
        .collect()
}

/// Registers that others must not have.
fn fixed(body: &Body, saves: bool) -> RegSet {
    let numbers = (0..16).filter(|n| body.fixed & 1 << n != 0);
    let set = numbers.fold(RegSet::NONE, |set, n| set.with(Gpr::new(n)));
    if saves { set.with(Gpr::RAX) } else { set }
}

fn has_segment(value: &Value) -> bool {
    let Value::Memory(Address::Sum { segment, .. }) = value else {
        return false;
    };
    segment.is_some()
}

/// Whether `body` can stand where `values` are its arguments: a register that it must have for
/// itself is none that they are made of, nor the one that keeps flags. And there must be a way
/// through it to what follows.
pub fn fits(body: &Body, values: &[Value], flags: bool) -> bool {
    let own = fixed(body, false);
    let rax = RegSet::NONE.with(Gpr::RAX);
    let keeps = if flags && body.flags {
        rax
    } else {
        RegSet::NONE
    };
    own.and(routine::sources(values).or(keeps)) == RegSet::NONE && body.path.is_ever_done()
}

struct Inlining<'a> {
    temps: Temps,
    /// The virtual register of each of the first of them.
    virtuals: Vec<u8>,
    number: u16,
    values: &'a [Value],
    scratch: Option<Temp>,
    /// Registers of the app that are only where they are kept.
    written: RegSet,
    /// Where ways end that are not the last.
    end: Option<Label>,
    /// Where ways lead to that say yes.
    then: Option<Label>,
    /// Where rare ways lead to.
    cold: Option<Label>,
}

impl Inlining<'_> {
    fn temp(&self, register: u8) -> Temp {
        let place = self.virtuals.iter().position(|n| *n == register);
        Temp(self.temps.first + place.unwrap_or(0) as u16)
    }

    fn end(&mut self, form: &mut Form) -> Label {
        *self.end.get_or_insert_with(|| form.label())
    }

    fn then(&mut self, form: &mut Form) -> Label {
        *self.then.get_or_insert_with(|| form.label())
    }

    fn cold(&mut self, form: &mut Form) -> Label {
        *self.cold.get_or_insert_with(|| form.label())
    }

    /// `last`: the end follows behind it.
    fn path(&mut self, form: &mut Form, path: &Path, last: bool) {
        for step in &path.steps {
            self.step(form, step);
        }
        match &path.end {
            End::Done if last => {}
            End::Done => {
                let to = self.end(form);
                form.push(Op::GotoFar { to });
            }
            End::Then => {
                let to = self.then(form);
                form.push(Op::GotoFar { to });
            }
            End::Call => {
                let to = self.cold(form);
                form.push(Op::GotoFar { to });
            }
            End::If(branch) => {
                let (mut one, mut other) = (&branch.taken, &branch.other);
                let mut condition = branch.condition;
                // The end follows: better to branch elsewhere.
                if last && one.steps.is_empty() && matches!(one.end, End::Done) {
                    (one, other) = (other, one);
                    condition ^= 1;
                }
                if let Some(to) = self.direct(form, one) {
                    form.push(Op::IfFlags { condition, to });
                    return self.path(form, other, last);
                }
                if let Some(to) = self.direct(form, other) {
                    condition ^= 1;
                    form.push(Op::IfFlags { condition, to });
                    return self.path(form, one, last);
                }
                let to = form.label();
                form.push(Op::IfFlags { condition, to });
                self.path(form, other, false);
                form.place_with(to, self.temps);
                self.path(form, one, last);
            }
        }
    }

    /// Where a way leads that does nothing itself.
    fn direct(&mut self, form: &mut Form, path: &Path) -> Option<Label> {
        match path.end {
            _ if !path.steps.is_empty() => None,
            End::Done => Some(self.end(form)),
            End::Then => Some(self.then(form)),
            End::Call => Some(self.cold(form)),
            End::If(_) => None,
        }
    }

    fn step(&mut self, form: &mut Form, step: &Step) {
        match *step {
            Step::Argument { to, index } => {
                let value = self.values[usize::from(index)];
                one(form, self.temp(to), value, self.written, self.scratch);
            }
            Step::Set { to, value } => constant(form, self.temp(to).into(), value),
            Step::Object { to, offset } => {
                let to = Reg::Temp(self.temp(to));
                load(form, to, Calls::code(self.number));
                plain(form, to, Some(to), offset as i32);
            }
            Step::Ins(lifted) => self.ins(form, lifted),
        }
    }

    fn ins(&self, form: &mut Form, lifted: Lifted) {
        let named = lifted.reads | lifted.writes;
        let mut uses = LiftedUses {
            temps: [Temp(self.temps.first); 4],
            reads: 0,
            writes: 0,
            flags: lifted.writes_flags != 0,
        };
        let registers = (0..16_u8).filter(|n| named & 1 << n != 0);
        for (place, n) in registers.enumerate().take(uses.temps.len()) {
            uses.temps[place] = self.temp(n);
            uses.reads |= u8::from(lifted.reads & 1 << n != 0) << place;
            uses.writes |= u8::from(lifted.writes & 1 << n != 0) << place;
        }
        let ins = form.lifted.len() as u16;
        form.lifted.push(lifted);
        form.push(Op::Lifted { ins, uses });
    }
}
