//! Calls of analysis routines: which way each is made, and where.

mod fate;

use super::bodies::{Bodies, Lifted};
use super::jumps::Jumps;
use alloc::sync::Arc;
use alloc::vec::Vec;
use ppin_abi::area::MAX_ROUTINES;
use ppin_abi::optimize::Optimize;
use ppin_api::compiler::{CallInsertion, Condition, Destination, Value};
use ppin_api::{RoutineId, Tool};
use ppin_decode::{Ins, Predicate, effects};
use ppin_form::{Form, Gpr, InsId, Op, RegSet};
use ppin_lift::body::{End, Why};
use ppin_lift::{Body, Wanted};
use ppin_liveness::registers::overwritten;
use ppin_lower::routine::{self, Place};
use ppin_lower::{bridge, call_arg, inlined, leave, predicate, store_result};

pub use fate::{Fate, Part};

/// The calls of a trace, to be asked for in the order of their places.
#[derive(Default)]
pub(super) struct Calls {
    /// In order of their place, then of insertion.
    calls: Vec<Call>,
    /// Those that have had their turn.
    done: usize,
}

struct Call {
    inserted: CallInsertion,
    /// Whether its routine is a plain function that code may call by itself.
    plain: bool,
    /// The same of the routine that decides, if there is one.
    decider: bool,
    /// What decides whether its instruction does its work.
    predicate: Option<Predicate>,
    /// Whether flags are alive there.
    flags: bool,
    /// Registers that the app does not need there.
    free: RegSet,
    /// What its routine comes to with these arguments, if it can stand here; or the one that
    /// decides.
    body: Lifted,
}

impl Call {
    const fn place(&self) -> (u32, bool) {
        (self.inserted.ins, self.inserted.after)
    }

    /// Whether it is made without entering the VM, if its routine is `plain`. In a restartable
    /// sequence the kernel may look at any time, and the thread may be elsewhere only by way of the
    /// bridge.
    fn is_direct(form: &Form, plain: bool) -> bool {
        plain && form.optimize.has(Optimize::CALLS) && form.sequence.is_none()
    }

    /// Whether what comes first, the routine that decides or the only one, is called so.
    fn begins_directly(&self, form: &Form) -> bool {
        let decides = self.inserted.condition.is_some();
        Self::is_direct(form, if decides { self.decider } else { self.plain })
    }

    /// What it is called with.
    fn first_args(&self) -> &[Value] {
        let condition = self.inserted.condition.as_ref();
        condition.map_or(&self.inserted.args, |condition| &condition.args)
    }

    /// The register that the app finds changed behind it.
    fn changed(&self) -> RegSet {
        match self.inserted.into {
            Some(Destination::Register(reg)) => RegSet::of(&[Gpr::new(reg as u8)]),
            Some(Destination::ProgramCounter | Destination::Memory(..)) | None => RegSet::NONE,
        }
    }

    /// Whether it may lead the app away.
    fn jumps(&self) -> bool {
        self.inserted.into == Some(Destination::ProgramCounter)
    }

    /// Its body, if it is to be inlined.
    fn body(&self, form: &Form) -> Option<&Body> {
        let body = (*self.body).as_ref().ok()?;
        let wanted = form.optimize.has(Optimize::INLINE);
        let fits = inlined::fits(body, self.first_args(), self.flags);
        (wanted && fits).then_some(body)
    }

    /// What is looked at by the call: by way of the bridge, perhaps all; and branches bring all to
    /// their labels.
    fn looked_at(&self, form: &Form) -> RegSet {
        let branches = |body: &Body| matches!(body.path.end, End::If(_));
        let decides = self.inserted.condition.is_some() || self.inserted.predicated;
        let leaves = decides || self.jumps();
        if leaves || !self.begins_directly(form) || self.body(form).is_some_and(branches) {
            return RegSet::ANY;
        }
        let address = match &self.inserted.into {
            Some(Destination::Memory(address, _)) => routine::sources(&[*address]),
            _ => RegSet::NONE,
        };
        let sources = routine::sources(&self.inserted.args);
        sources.or(address).or(self.changed())
    }

    /// Makes it, for `ins`.
    fn insert(&self, form: &mut Form, ins: InsId, looked_at: RegSet) {
        if !self.inserted.predicated {
            return self.insert_always(form, ins, looked_at);
        }
        predicate::skip_unless(form, ins, self.predicate, |form| {
            self.insert_always(form, ins, looked_at);
        });
    }

    fn insert_always(&self, form: &mut Form, ins: InsId, looked_at: RegSet) {
        let place = Place {
            flags: self.flags,
            free: self.free.minus(looked_at).minus(self.changed()),
        };
        match &self.inserted.condition {
            Some(condition) => self.insert_if(form, ins, condition, place),
            None if Self::is_direct(form, self.plain) => self.direct(form, ins, place),
            None => self.bridge(form, ins),
        }
        match self.inserted.into {
            Some(Destination::ProgramCounter) => leave::lower(form, ins),
            Some(Destination::Memory(address, bytes)) => {
                if self.inserted.after {
                    form.push(Op::Done { ins });
                }
                store_result::lower(form, address, bytes);
            }
            _ => {}
        }
    }

    /// Makes it without entering the VM.
    fn direct(&self, form: &mut Form, ins: InsId, place: Place) {
        let called = (self.inserted.routine.0, &self.inserted.args[..]);
        match (self.body(form), self.inserted.into) {
            (Some(body), _) => inlined::lower(form, ins, called, body, place, None),
            (None, Some(Destination::Register(reg))) => {
                routine::lower_into(form, called, place, reg);
            }
            (None, _) => routine::lower(form, called.0, called.1, place),
        }
    }

    fn bridge(&self, form: &mut Form, ins: InsId) {
        let args = self.inserted.args.iter().map(|value| call_arg(*value));
        let into = self.inserted.into.map(bridge::into);
        bridge::lower(form, ins, self.inserted.routine.0, args.chain(into));
    }

    /// Makes it if `condition` holds.
    fn insert_if(&self, form: &mut Form, ins: InsId, condition: &Condition, place: Place) {
        let (number, args) = (self.inserted.routine.0, &self.inserted.args);
        let decider = (condition.routine.0, &condition.args[..]);
        if !Self::is_direct(form, self.decider) {
            let [decided, args] = [decider.1, args].map(|all| all.iter().map(|v| call_arg(*v)));
            let all = decided.chain([bridge::then(number)]).chain(args);
            return bridge::lower(form, ins, decider.0, all);
        }
        let then = |form: &mut Form| match Self::is_direct(form, self.plain) {
            true => routine::lower(form, number, args, place),
            false => self.bridge(form, ins),
        };
        match self.body(form) {
            Some(body) => inlined::lower(form, ins, decider, body, place, Some(&then)),
            None => routine::lower_if(form, ins, decider, place, &then),
        }
    }
}

impl Calls {
    /// What `tool` has inserted into `ins`, before each of which the flags in `live` are alive. `bodies` are
    /// those of earlier traces.
    pub(super) fn new(
        inserted: Vec<CallInsertion>,
        tool: &dyn Tool,
        ins: &[Ins],
        live: &[u32],
        (optimize, bodies): (Optimize, &Bodies),
        jumps: &Jumps,
    ) -> Self {
        let routines = tool.routines();
        let wanted = optimize.has(Optimize::CALLS) && optimize.has(Optimize::INLINE);
        let plain = |RoutineId(number): RoutineId| {
            let routine = routines.get(usize::from(number))?.plain()?;
            (usize::from(number) < MAX_ROUTINES).then_some(routine)
        };
        let made = |mut inserted: CallInsertion| {
            let routine = plain(inserted.routine);
            let condition = inserted.condition.as_ref();
            let decider = condition.and_then(|condition| plain(condition.routine));
            // (Elsewhere it might be for who is led away before he has come here.)
            if inserted.anywhere && jumps.are_none() {
                inserted.ins = cheapest(inserted.ins as usize, ins, live) as u32;
            }
            let at = inserted.ins as usize + usize::from(inserted.after);
            let free = match inserted.after {
                false if !jumps.leave_before(at) => overwritten(&ins[at]),
                _ => RegSet::NONE,
            };
            let body = match (condition, decider, routine) {
                _ if !wanted => Arc::new(Err(Why::Unreadable)),
                (Some(condition), Some(decider), _) => {
                    let decision = Wanted::Decision(decider.outcome());
                    bodies.lift(tool, decider, &condition.args, decision)
                }
                (None, _, Some(_)) if inserted.into.is_some() => Arc::new(Err(Why::Result)),
                (None, _, Some(routine)) => {
                    bodies.lift(tool, routine, &inserted.args, Wanted::Deeds)
                }
                _ => Arc::new(Err(Why::Unreadable)),
            };
            Call {
                body,
                plain: routine.is_some(),
                decider: decider.is_some(),
                predicate: ins[inserted.ins as usize].predicate(),
                flags: inserted.taken || live.get(at).is_none_or(|live| *live != 0),
                free,
                inserted,
            }
        };
        let mut calls: Vec<Call> = inserted.into_iter().map(made).collect();
        calls.sort_by_key(Call::place);
        Self { calls, done: 0 }
    }

    pub(super) const fn is_done(&self) -> bool {
        self.done == self.calls.len()
    }

    /// The calls of the next place, if that is `place`.
    fn of(&self, place: (u32, bool)) -> &[Call] {
        let rest = &self.calls[self.done..];
        let len = rest.partition_point(|call| call.place() <= place);
        &rest[..len]
    }

    /// Whether the next ones are behind instruction `ins`.
    pub(super) fn are_behind(&self, ins: u32) -> bool {
        let next = self.calls.get(self.done);
        next.is_some_and(|call| call.place() == (ins, true))
    }

    /// Registers that must be kept for calls at `place`: those that they look at.
    pub(super) fn looked_at(&self, form: &Form, place: (u32, bool)) -> RegSet {
        let calls = self.of(place).iter();
        calls.fold(RegSet::NONE, |set, call| set.or(call.looked_at(form)))
    }

    /// Makes those before or behind `ins`; whether there are any.
    pub(super) fn insert(
        &mut self,
        form: &mut Form,
        ins: InsId,
        after: bool,
        looked_at: RegSet,
    ) -> bool {
        let calls = self.of((u32::from(ins.0), after));
        let count = calls.len();
        for call in calls {
            call.insert(form, ins, looked_at);
        }
        self.done += count;
        count != 0
    }
}

/// The place for a call that may be made anywhere in the block of instruction `at`: where no flag
/// is alive, if there is one.
fn cheapest(at: usize, ins: &[Ins], live: &[u32]) -> usize {
    let ends = |ins: &Ins| ins.kind.ends_block();
    let start = ins[..at].iter().rposition(ends).map_or(0, |last| last + 1);
    let len = ins[start..].iter().position(ends);
    let end = len.map_or(ins.len(), |len| start + len + 1);
    let dead = (start..end).find(|index| live[*index] & effects::ARITHMETIC == 0);
    dead.unwrap_or(at)
}
