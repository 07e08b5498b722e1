//! Where an indirect jump or call goes on: looked up in line, so that each has a jump of its own,
//! which the CPU predicts by itself.
//!
//! ```text
//!        mov gs:[Spill::Rax], rax
//!        mov gs:[Spill::Rdx], rdx
//!        movzx eax, ch                    16 times the entry's number (Near::index)
//!        lea eax, [rcx + rax]
//!        lea eax, [rax * 8]
//!        lea eax, [rax + rax]
//!        movzx eax, ax
//!        mov rdx, gs:[rax + NEAR]         the tag, which makes 0 with its app address
//!        lea rcx, [rcx + rdx]
//!        jrcxz found
//!        jmp gs:[Entry::NotNear]
//! found: mov rdx, gs:[rax + NEAR + 8]     the cache address
//!        mov gs:[ARRIVAL], rdx
//!        (rax, rcx and rdx are the app's again)
//!        jmp gs:[ARRIVAL]
//! ```
//! No instruction of it touches the flags.

use crate::form::{Cell, Form, Gpr, Need, Op, Reg, Temp, Width};
use ppin_abi::area::{ARRIVAL, Entry, NEAR};

/// Goes on at the translation of app address `target`, which is rcx. `otherwise` is the routine
/// that does the same where no code in line is wanted.
pub(super) fn jump(form: &mut Form, target: Temp, otherwise: Entry) {
    if !form.looks_up_in_line() {
        return form.jump(otherwise);
    }
    let [index, word] = form.take([Need::fixed(Gpr::RAX), Need::fixed(Gpr::RDX)]);
    let found = form.label();
    look_up(form, target, index, word);
    form.push(Op::IfZero {
        temp: target,
        to: found,
    });
    form.jump(Entry::NotNear);
    form.place(found, &[target, index, word]);
    load(form, word, index, NEAR + 8);
    form.push(Op::StoreCell {
        cell: Cell::at(ARRIVAL as i32),
        from: word.into(),
        width: Width::W64,
    });
    form.give(&[index, word]);
    form.give(&[target]);
    form.push(Op::JumpCell {
        cell: Cell::at(ARRIVAL as i32),
    });
}

/// Leaves 0 in `target` if the entry is its own.
fn look_up(form: &mut Form, target: Temp, index: Temp, word: Temp) {
    let to = Reg::from(target);
    form.push(Op::NearIndex {
        to: index.into(),
        from: to,
    });
    load(form, word, index, NEAR);
    form.push(Op::Lea {
        to,
        base: to,
        index: Some(word.into()),
        disp: 0,
    });
}

fn load(form: &mut Form, to: Temp, index: Temp, disp: u32) {
    let cell = Cell {
        base: Some(index),
        disp: disp as i32,
    };
    form.push(Op::LoadCell {
        to: to.into(),
        cell,
        width: Width::W64,
    });
}
