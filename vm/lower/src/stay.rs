//! Registers that are given back late, or never: what rules have put away stays in its slot while the app does not
//! look at it.
//!
//! ```text
//!       mov gs:[Spill::Rax], rax
//!       ...                              the rule
//!       push rbx                         the app, which leaves rax alone
//!       mov eax, 1                       and overwrites it: what lies in the slot is nobody's
//! ```
//! Faults and signals in between find the app's value in the slot, as the pc map says. Who goes on there behind a
//! signal puts it back (`pc_flag::IN_SLOTS`).

use ppin_decode::{Gpr, Ins, RegSet};
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
        Next::Returns(number) => {
            let mere = number.checked_sub(1).map(|before| &behind.ins[before]);
            let takes = RETURNED_BY.contains(register) && super::ret::is_paired(form, mere);
            takes.then_some(None)
        }
        Next::Leaves => (leaves_by_lookup(form) && TAKEN_AGAIN.contains(register)).then_some(None),
    }
}

/// Whether the jump that ends the trace takes registers, so that those of before need not come back.
fn leaves_by_lookup(form: &Form) -> bool {
    form.looks_up_in_line() && !form.leaves_sealed && form.cases.is_none()
}

/// Registers that a paired return takes.
const RETURNED_BY: RegSet = RegSet::of(&[Gpr::RCX, Gpr::RDX]);

/// Registers that jumps take which look up their target in line.
const TAKEN_AGAIN: RegSet = RegSet::of(&[Gpr::RAX, Gpr::RCX]);
