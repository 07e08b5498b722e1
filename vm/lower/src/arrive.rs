//! Where threads arrive by indirect jumps and calls in line ([`super::near`]), before the trace.
//!
//! ```text
//! elsewhere:
//!        jmp gs:[Entry::ArrivedElsewhere]
//! arrival:
//!        lea rax, [rip + head]
//!        not rax
//!        lea rcx, [rcx + rax + 2]         1 if this is where the app goes
//!        loop elsewhere                   see super::meant
//!        mov rax, gs:[Spill::Rax]
//!        mov rcx, gs:[Spill::Rcx]
//!        ...                              the trace
//! ```
//! The jump stands before, where no thread comes by: AMD processors predict an indirect branch by the way
//! that led to it, of which each line of 64 bytes takes a part, so bytes on that way are dear.
//!
//! The flags are left alone: some may be needed where the app goes instead. Traces that are not made
//! for an indirect branch have no such code, and are arrived at by a landing
//! (`ppin_indirect`), which does the same and is a jump more.

use super::meant;
use ppin_abi::addr::ImageOff;
use ppin_abi::area::Entry;
use ppin_form::{Form, Gpr, Need, Op};

/// Lets threads arrive at the trace that begins at `head`.
pub fn lower(form: &mut Form, head: ImageOff) {
    let entry = Entry::ArrivedElsewhere;
    let temps = form.arrived([Need::fixed(Gpr::RCX), Need::fixed(Gpr::RAX)], entry);
    meant::check(form, temps, entry, |form, [to, own], more| {
        form.push(Op::LeaApp { to: own, off: head });
        form.push(Op::Not { reg: own });
        form.push(Op::Lea {
            to,
            base: to,
            index: Some(own),
            disp: 1 + more,
        });
    });
    // (By tables threads arrive where only rcx is to come back: see super::cases.)
    let [target, own] = temps;
    form.give(&[own]);
    form.give(&[target]);
    form.push(Op::Entered);
}
