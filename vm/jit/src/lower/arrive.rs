//! Where threads arrive by indirect jumps and calls in line ([`super::near`]), before the trace.
//!
//! ```text
//!        lea rax, [rip + head]
//!        not rax
//!        lea rcx, [rcx + rax + 1]         0 if this is where the app goes
//!        jrcxz same
//!        jmp gs:[Entry::ArrivedElsewhere]
//! same:  mov rax, gs:[Spill::Rax]
//!        mov rcx, gs:[Spill::Rcx]
//!        ...                              the trace
//! ```
//! The flags are left alone: some may be needed where the app goes instead. Traces that are not made
//! for an indirect branch have no such code, and are arrived at by a landing
//! (`ppin_codecache::indirect`), which does the same and is a jump more.

use ppin_abi::addr::ImageOff;
use ppin_abi::area::Entry;
use ppin_form::{Form, Gpr, Need, Op, Reg};

/// Lets threads arrive at the trace that begins at `head`.
pub(crate) fn lower(form: &mut Form, head: ImageOff) {
    let same = form.label();
    let [target, other] = form.arrived([Need::fixed(Gpr::RCX), Need::fixed(Gpr::RAX)]);
    let (to, own) = (Reg::from(target), Reg::from(other));
    form.push(Op::LeaApp { to: own, off: head });
    form.push(Op::Not { reg: own });
    form.push(Op::Lea {
        to,
        base: to,
        index: Some(own),
        disp: 1,
    });
    form.push(Op::IfZero {
        temp: target,
        to: same,
    });
    form.jump(Entry::ArrivedElsewhere);
    form.place(same, &[target, other]);
    form.give(&[target, other]);
    form.push(Op::Entered);
}
