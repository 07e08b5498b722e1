//! What becomes of calls, in words.

use super::{Call, Calls};
use alloc::vec::Vec;
use ppin_abi::optimize::Optimize;
use ppin_api::{RoutineId, Tool};
use ppin_form::Form;
use ppin_lift::body::Why;

/// What has become of a call that a tool has inserted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fate {
    /// The app instruction before or behind which it is made, by its place in the trace.
    pub ins: u32,
    /// Whether it is made behind the instruction.
    pub after: bool,
    /// Whether it is made where the branch leads.
    pub taken: bool,
    /// What it is of a condition and its consequence.
    pub part: Part,
    /// The routine's name.
    pub routine: &'static str,
    /// How it is made, and why it is not in line if it is not.
    pub how: &'static str,
}

/// What a call is of a condition and its consequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// It is a call without a condition.
    All,
    /// It decides.
    If,
    /// It is made if the one before says so.
    Then,
}

impl Part {
    /// Its name; empty for a call without a condition.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::All => "",
            Self::If => "if",
            Self::Then => "then",
        }
    }
}

impl Calls {
    /// What becomes of each call, in a form like `form`.
    pub(in crate::instrument) fn fates(&self, form: &Form, tool: &dyn Tool) -> Vec<Fate> {
        let mut fates = Vec::new();
        for call in &self.calls {
            let name = |RoutineId(number): RoutineId| {
                let routine = tool.routines().get(usize::from(number));
                routine.map_or("", |routine| routine.name)
            };
            let fate = |part, routine, how| Fate {
                ins: call.inserted.ins,
                after: call.inserted.after,
                taken: call.inserted.taken,
                part,
                routine: name(routine),
                how,
            };
            let routine = call.inserted.routine;
            match &call.inserted.condition {
                None => fates.push(fate(Part::All, routine, call.first_how(form))),
                Some(condition) => {
                    fates.push(fate(Part::If, condition.routine, call.first_how(form)));
                    fates.push(fate(Part::Then, routine, call.then_how(form)));
                }
            }
        }
        fates
    }
}

impl Call {
    /// How the routine that decides is called, or the only one.
    fn first_how(&self, form: &Form) -> &'static str {
        let decides = self.inserted.condition.is_some();
        let plain = if decides { self.decider } else { self.plain };
        if let Some(how) = by_the_vm(form, plain) {
            return how;
        }
        match &*self.body {
            _ if !form.optimize.has(Optimize::INLINE) => "called: -inline",
            _ if self.body(form).is_some() => "in line",
            Ok(_) => Why::Registers.text(),
            Err(why) => why.text(),
        }
    }

    /// How the one is called that it decides about.
    fn then_how(&self, form: &Form) -> &'static str {
        by_the_vm(form, self.plain).unwrap_or("called, out of the way")
    }
}

/// Why a routine is called by way of the VM.
fn by_the_vm(form: &Form, plain: bool) -> Option<&'static str> {
    if !plain {
        Some("called by way of the VM: it needs the host")
    } else if !form.optimize.has(Optimize::CALLS) {
        Some("called by way of the VM: -calls")
    } else if !Call::is_direct(form, plain) {
        Some("called by way of the VM: in a restartable sequence")
    } else {
        None
    }
}
