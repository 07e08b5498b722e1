//! Where threads enter by calls of the CPU ([`super::paired`]), before the trace.
//!
//! ```text
//!        mov gs:[Spill::Rax], rax
//!        lea eax, [rsp + 8]               where the app's return address lies
//!        movzx eax, ax
//!        pop gs:[rax + RETURNS]           to the return cache
//!        mov rax, gs:[Spill::Rax]
//!        mov qword [rsp - 8], 0           no address of ours stays where the app may find it
//!        ...                              the trace
//! ```
//! The flags are left alone: they may be an argument. (By r11, which nobody needs there, recursion took
//! 1.7 ns a call instead of 1.5 on Zen 5.)

use super::paired;
use ppin_form::{Form, Op};

/// Takes away what the CPU has pushed below the app's return address.
pub(crate) fn lower(form: &mut Form) {
    form.push(Op::Called);
    let index = paired::note_return(form, 8);
    form.give(&[index]);
    form.push(Op::ClearBelow);
}
