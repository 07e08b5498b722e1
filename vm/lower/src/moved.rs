//! Functions that move their return address before they do anything else: SBCL's take it from where the call
//! has pushed it to their frame, and return from there.
//!
//! ```text
//! Target:  pop [rbp + 8]                   where a trace begins
//! Becomes: mov gs:[Spill::Rax], rax; mov gs:[Spill::Rcx], rcx
//!          movzx eax, sp
//!          rorx rax, rax, 3; lea eax, [rax * 8]
//!          mov rcx, gs:[rax + RETURNS_BELOW]
//!          lea rax, [rbp + 8]
//!          movzx eax, ax
//!          rorx rax, rax, 3; lea eax, [rax * 8]
//!          mov gs:[rax + RETURNS_BELOW], rcx
//!          mov rax, gs:[Spill::Rax]; mov rcx, gs:[Spill::Rcx]
//!          pop [rbp + 8]
//! ```
//! What the return cache says of the word ([`super::paired`]) moves with it; else each return from there would be
//! mispredicted and looked up. If the word is no return address, another entry is lost, and that return is looked up.

use super::site::Site;
use iced_x86::Register;
use ppin_abi::area::RETURNS_BELOW;
use ppin_decode::top;
use ppin_form::{Cell, Form, Gpr, Need, Op, Temp, Width};

/// A place goes by none of these: two are taken here, and the `pop` changes the third.
const TAKEN: [Register; 3] = [Register::RSP, Register::RAX, Register::RCX];

/// Comes before the instruction of `site`.
pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    if site.before.is_some() || !top::moves(&site.ins.raw, &TAKEN) || !form.pairs_returns() {
        return;
    }
    let temps = form.take([Need::fixed(Gpr::RAX), Need::fixed(Gpr::RCX)]);
    let [index, entry] = temps;
    let (ins, width) = (site.id, Width::W64);
    let to = index.into();
    form.push(Op::StackWord { to });
    form.push(Op::WordOffset { reg: to });
    form.push(Op::LoadCell {
        to: entry.into(),
        cell: entry_of(index),
        width,
    });
    form.push(Op::LeaOperand { to, ins });
    form.push(Op::WordAt { reg: to });
    form.push(Op::StoreCell {
        cell: entry_of(index),
        from: entry.into(),
        width,
    });
    form.give(&temps);
}

/// The entry for a return address in the word at `index` bytes of its 64 KiB.
fn entry_of(index: Temp) -> Cell {
    Cell {
        base: Some(index),
        disp: RETURNS_BELOW as i32,
    }
}
