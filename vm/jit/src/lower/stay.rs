//! Registers that are given back late, or never: what rules have put away stays in its slot while the app does not
//! look at it.
//!
//! ```text
//!       mov gs:[Spill::Rax], rax
//!       ...                              the rule
//!       push rbx                         the app, which leaves rax alone
//!       mov eax, 1                       and overwrites it: what lies in the slot is nobody's
//! ```
//! Faults in between find the app's value in the slot, as the pc map says.

use ppin_decode::{Gpr, Ins, Kind};
use ppin_form::{Form, InsId};
use ppin_liveness::next::{Next, next};

/// What follows the code of a rule.
#[derive(Clone, Copy)]
pub(super) struct Behind<'a> {
    /// Instructions between which nothing stands.
    pub ins: &'a [Ins],
    /// Number of the first one.
    pub first: u16,
}

/// Until when the app's value of `register` can stay in its slot, as [`Form::stay`] has it.
pub(super) fn stays(form: &Form, register: Gpr, behind: Behind<'_>) -> Option<Option<InsId>> {
    match next(behind.ins, register)? {
        Next::Overwritten(number) => Some(Some(InsId(behind.first + number as u16))),
        Next::Leaves(number) => takes_again(form, &behind.ins[number], register).then_some(None),
    }
}

/// Whether the code of the branch `ins` begins with taking `register`, among others.
fn takes_again(form: &Form, ins: &Ins, register: Gpr) -> bool {
    match ins.kind {
        Kind::IndirectJump => form.looks_up_in_line() && [Gpr::RAX, Gpr::RCX].contains(&register),
        _ => super::ret::is_paired(form, ins) && [Gpr::RCX, Gpr::RDX].contains(&register),
    }
}
