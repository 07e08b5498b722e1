//! Calls of analysis routines: which way each is made, and where.

use super::call_arg;
use crate::analyse::registers::overwritten;
use crate::form::{Form, InsId, RegSet};
use crate::lower::{bridge, inlined, routine};
use alloc::rc::Rc;
use alloc::vec::Vec;
use ppin_abi::area::MAX_ROUTINES;
use ppin_abi::optimize::Optimize;
use ppin_api::compiler::{CallInsertion, Value};
use ppin_api::{Function, Tool};
use ppin_decode::{Ins, effects};
use ppin_lift::body::{End, Why};
use ppin_lift::{Body, Known, lift};

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
    /// Whether its routine is a plain function.
    plain: bool,
    /// Whether flags are alive there.
    flags: bool,
    /// Registers that the app does not need there.
    free: RegSet,
    /// What its routine comes to with these arguments, if it can stand here.
    body: Rc<Result<Body, Why>>,
}

impl Call {
    const fn place(&self) -> (u32, bool) {
        (self.inserted.ins, self.inserted.after)
    }

    /// Whether it is made without entering the VM. In a restartable sequence the kernel may look
    /// at any time, and the thread may be elsewhere only by way of the bridge.
    fn is_direct(&self, form: &Form) -> bool {
        self.plain && form.optimize.has(Optimize::CALLS) && form.sequence.is_none()
    }
}

impl Call {
    /// The body, if the routine is to be inlined.
    fn body(&self, form: &Form) -> Option<&Body> {
        let body = (*self.body).as_ref().ok()?;
        let wanted = form.optimize.has(Optimize::INLINE);
        let fits = inlined::fits(body, &self.inserted.args, self.flags);
        (wanted && fits).then_some(body)
    }
}

/// What routines of a trace come to: many calls differ in what is not known of their arguments.
#[derive(Default)]
struct Bodies(Vec<Lifting>);

/// A routine by its address, what is known of its arguments, and what it comes to.
type Lifting = (u64, Vec<Known>, Rc<Result<Body, Why>>);

impl Bodies {
    /// What `routine` of `tool` comes to with `args`.
    fn lift(
        &mut self,
        tool: &dyn Tool,
        routine: &dyn Function,
        args: &[Value],
    ) -> Rc<Result<Body, Why>> {
        let known = args.iter().map(|value| match value {
            Value::Const(value) => Known::Number(*value),
            Value::State(_) => Known::State,
            _ => Known::Nothing,
        });
        let (address, known) = (routine.address() as u64, known.collect::<Vec<Known>>());
        let mut all = self.0.iter();
        if let Some((.., body)) = all.find(|(at, with, _)| *at == address && *with == known) {
            return Rc::clone(body);
        }
        let body = match tool.code() {
            Some(code) => lift(code, address, &known),
            None => Err(Why::Unreadable),
        };
        let body = Rc::new(body);
        self.0.push((address, known, Rc::clone(&body)));
        body
    }
}

impl Calls {
    /// What `tool` has inserted into `ins`, before each of which the flags in `live` are alive.
    pub(super) fn new(
        inserted: Vec<CallInsertion>,
        tool: &dyn Tool,
        ins: &[Ins],
        live: Vec<u32>,
        optimize: Optimize,
    ) -> Self {
        let routines = tool.routines();
        let wanted = optimize.has(Optimize::CALLS) && optimize.has(Optimize::INLINE);
        let mut bodies = Bodies::default();
        let made = |mut inserted: CallInsertion| {
            let number = usize::from(inserted.routine.0);
            let routine = routines.get(number).and_then(|routine| routine.plain());
            if inserted.anywhere {
                inserted.ins = cheapest(inserted.ins as usize, ins, &live) as u32;
            }
            let at = inserted.ins as usize + usize::from(inserted.after);
            let free = match inserted.after {
                true => RegSet::NONE,
                false => overwritten(&ins[at]),
            };
            let body = match routine {
                Some(routine) if wanted => bodies.lift(tool, routine, &inserted.args),
                _ => Rc::new(Err(Why::Unreadable)),
            };
            Call {
                body,
                plain: routine.is_some() && number < MAX_ROUTINES,
                flags: live.get(at).is_none_or(|live| *live != 0),
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

    /// Registers that must be kept for calls at `place`: those that they look at. One by the bridge
    /// may look at any, and branches bring all to their labels.
    pub(super) fn looked_at(&self, form: &Form, place: (u32, bool)) -> RegSet {
        let calls = self.of(place).iter();
        calls.fold(RegSet::NONE, |set, call| {
            let branches = |body: &Body| matches!(body.path.end, End::If(_));
            let sources = routine::sources(&call.inserted.args);
            set.or(match call.is_direct(form) {
                true if !call.body(form).is_some_and(branches) => sources,
                _ => RegSet::ANY,
            })
        })
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
            let (number, args) = (call.inserted.routine.0, &call.inserted.args);
            if call.is_direct(form) {
                let place = routine::Place {
                    flags: call.flags,
                    free: call.free.minus(looked_at),
                };
                match call.body(form) {
                    Some(body) => inlined::lower(form, ins, (number, args), body, place),
                    None => routine::lower(form, number, args, place),
                }
            } else {
                let args = args.iter().map(|value| call_arg(*value));
                bridge::lower(form, ins, number, args);
            }
        }
        self.done += count;
        count != 0
    }
}

/// What has become of a call that a tool has inserted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fate {
    /// The app instruction before or behind which it is made, by its place in the trace.
    pub ins: u32,
    /// Whether it is made behind the instruction.
    pub after: bool,
    /// The routine's name.
    pub routine: &'static str,
    /// How it is made, and why it is not in line if it is not.
    pub how: &'static str,
}

impl Calls {
    /// What becomes of each call, in a form like `form`.
    pub(super) fn fates(&self, form: &Form, tool: &dyn Tool) -> Vec<Fate> {
        let name = |number: u16| tool.routines().get(usize::from(number));
        let fate = |call: &Call| Fate {
            ins: call.inserted.ins,
            after: call.inserted.after,
            routine: name(call.inserted.routine.0).map_or("", |routine| routine.name),
            how: call.how(form),
        };
        self.calls.iter().map(fate).collect()
    }
}

impl Call {
    fn how(&self, form: &Form) -> &'static str {
        match &*self.body {
            _ if !self.plain => "called by way of the VM: it needs the host",
            _ if !form.optimize.has(Optimize::CALLS) => "called by way of the VM: -calls",
            _ if !self.is_direct(form) => "called by way of the VM: in a restartable sequence",
            _ if !form.optimize.has(Optimize::INLINE) => "called: -inline",
            _ if self.body(form).is_some() => "in line",
            Ok(_) => Why::Registers.text(),
            Err(why) => why.text(),
        }
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
