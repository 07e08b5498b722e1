//! Where an indirect jump or call goes on: by a table in line, so that each has a jump of its own,
//! which the CPU predicts by itself.
//!
//! ```text
//!        mov gs:[Spill::Rax], rax
//!        lea rax, [rip + 0]               who asks
//!        mov gs:[LEFT_AT], rax
//!        movzx eax, ch
//!        lea eax, [rax + rax * 8]
//!        lea eax, [rax + rcx]
//!        lea eax, [rax * 8]
//!        movzx eax, ax                    8 times the entry's number (near_index)
//!        jmp gs:[rax + NEAR]
//! ```
//! Code there ([`super::arrive`], or a landing of `ppin_indirect`) compares the target, since
//! many addresses share this place ([`ppin_abi::area::Area::near`]), and puts rax and rcx back: so the
//! jump need not wait for the comparison, and code that jumps often is short. No instruction touches
//! the flags.

use super::predicted;
use super::site::Site;
use ppin_abi::area::{Entry, LEFT_AT};
use ppin_form::{Cell, Form, Gpr, InsId, Need, Op, Temp, Width};

/// Goes on at the translation of app address `target`, which is rcx. `otherwise` is the routine
/// that does the same where no code in line is wanted. The last temporary that was taken may be
/// `rax`.
pub(super) fn jump(form: &mut Form, target: Temp, rax: Option<Temp>, otherwise: Entry) {
    if !form.looks_up_in_line() {
        return form.jump(otherwise);
    }
    let index = rax.unwrap_or_else(|| {
        let [index] = form.take([Need::fixed(Gpr::RAX)]);
        index
    });
    note(form, index);
    form.push(Op::NearIndex {
        to: index.into(),
        from: target.into(),
    });
    form.push(Op::JumpNear { target, index });
}

/// The same for the indirect jump or call of `site`.
pub(super) fn branch(
    form: &mut Form,
    site: &Site<'_>,
    target: Temp,
    rax: Option<Temp>,
    otherwise: Entry,
) {
    if predicted::is_predictable(form, site.ins) {
        predicted::jump(form, target, rax);
    } else {
        jump(form, target, rax, otherwise);
    }
}

/// Notes where the program leaves for a lookup, by a register that gets another value then.
pub(super) fn note(form: &mut Form, by: Temp) {
    form.push(Op::Here { to: by.into() });
    form.push(Op::StoreCell {
        cell: Cell::at(LEFT_AT as i32),
        from: by.into(),
        width: Width::W64,
    });
}

/// Reads the target of the indirect branch `ins` to `to`, which is rcx.
pub(super) fn target(form: &mut Form, to: Temp, ins: InsId) {
    if !form.looks_up_in_line() {
        note(form, to);
        form.push(Op::Refill { temp: to });
    }
    form.push(Op::LoadTarget { to: to.into(), ins });
}
