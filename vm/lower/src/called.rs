//! Where threads enter by calls of the CPU ([`super::paired`]), before the trace.
//!
//! ```text
//!        mov gs:[Spill::Rax], rax
//!        movzx eax, sp
//!        rorx rax, rax, 3
//!        pop gs:[rax * 8 + RETURNS]       to the return cache
//!        push 0; pop rax                  no address of ours stays where the app may find it
//!        mov rax, gs:[Spill::Rax]         unless it may stay there ([`super::stay`])
//!        ...                              the trace
//! ```
//! What is called may be no more than a jump through a cell that does not change ([`super::sealed`]): the linker makes
//! one for each function of another image. It passes the call on, to code that is entered by calls as well.
//!
//! ```text
//!        jmp [rip + slot]                 behind this, until it is known to lead elsewhere
//!        mov gs:[Spill::Rax], rax
//!        ...                              the same, and the jump as it is made until then
//! ```
//! A trace that begins with a push writes to that word at once. In between, only a signal could be delivered:
//! the VM looks at the word then.
//!
//! The flags are left alone: they may be an argument. (By r11, which nobody needs there, recursion took
//! 1.7 ns a call instead of 1.5 on Zen 5.)

use super::paired;
use super::stay::{Behind, stays};
use iced_x86::Code;
use ppin_abi::area::RETURNS;
use ppin_decode::{Ins, top};
use ppin_form::{Form, Gpr, InsId, Op};

/// Takes away what the CPU has pushed below the app's return address. `trace`: its instructions, if nothing
/// comes between them that may look at the stack.
pub fn lower(form: &mut Form, trace: Option<&[Ins]>) {
    form.push(Op::Called);
    if let Some(ins) = trace.and_then(|trace| sealed_jump(form, trace)) {
        form.passes_on = true;
        form.push(Op::JumpSealed { ins });
    }
    let index = paired::note_return(form, RETURNS);
    if !trace.is_some_and(top::is_pushed_by) {
        form.push(Op::ClearBelow { by: index.into() });
    }
    let ins = trace.filter(|_| form.undisturbed).unwrap_or_default();
    match stays(form, Gpr::RAX, Behind { ins, first: 0 }) {
        Some(until) => form.stay(index, until),
        None => form.give(&[index]),
    }
    form.push(Op::CalleeBegins);
}

/// The jump through a sealed cell that is all of `trace`, with nothing inserted before it.
fn sealed_jump(form: &Form, trace: &[Ins]) -> Option<InsId> {
    let last = trace.len().checked_sub(1)?;
    let alone = trace[..last]
        .iter()
        .all(|ins| ins.raw.code() == Code::Endbr64);
    (alone && form.undisturbed && form.leaves_sealed).then_some(InsId(last as u16))
}
