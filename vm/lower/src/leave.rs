//! Leading the app away, to where a routine says.
//!
//! ```text
//!          mov gs:[Spill::Rcx], rcx
//!          mov rcx, gs:[Calls::RESULT]      what the routine has returned
//!          jrcxz on                         0: the app stays
//!          jmp out
//!  on:     mov rcx, gs:[Spill::Rcx]
//!          ...                              the instruction; behind the whole trace:
//!  out:    jmp gs:[Entry::IblJmp]           or in line ([`super::near`])
//! ```
//! Where it is not in line, it is noted who leaves, as for the app's own indirect jumps.

use super::{near, routine};
use ppin_abi::area::{Calls, Entry};
use ppin_form::{Form, Gpr, InsId, Need, Op};

/// Goes on at the result of the routine that was called last, unless it is 0. All of the app's
/// values are in place.
pub fn lower(form: &mut Form, ins: InsId) {
    let [target] = form.take([Need::fixed(Gpr::RCX)]);
    routine::load(form, target.into(), Calls::RESULT);
    let [out, on] = [(); 2].map(|()| form.label());
    form.push(Op::IfZero {
        temp: target,
        to: on,
    });
    form.push(Op::GotoFar { to: out });
    form.place(on, &[target]);
    form.give(&[target]);
    form.aside(ins, |form| {
        form.place(out, &[target]);
        if !form.looks_up_in_line() {
            near::note(form, target);
            routine::load(form, target.into(), Calls::RESULT);
        }
        near::jump(form, target, None, Entry::IblJmp);
    });
}
