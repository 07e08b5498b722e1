//! Where an indirect jump or call goes on: looked up in line, so that each has a jump of its own,
//! which the CPU predicts by itself.
//!
//! ```text
//!        mov gs:[Spill::Rax], rax
//!        mov gs:[Spill::Rdx], rdx
//!        movzx eax, ch
//!        lea eax, [rax + rcx]
//!        lea eax, [rax * 8]
//!        movzx eax, ax                    8 times the entry's number (near_index)
//!        mov rdx, gs:[rax + NEAR]         the tag, which makes 0 with its app address
//!        lea rcx, [rcx + rdx]
//!        mov rax, gs:[rax + NEAR + 8]     the cache address
//!        jrcxz found
//!        lea rax, [rip + 0]               who asks
//!        jmp gs:[Entry::NotNear]
//! found: mov gs:[GOING_TO], rax
//!        (rax, rcx and rdx are the app's again)
//!        jmp gs:[GOING_TO]
//! ```
//! No instruction of it touches the flags.

use ppin_abi::area::{Entry, GOING_TO, LEFT_AT, NEAR};
use ppin_form::{Cell, Form, Gpr, InsId, Need, Op, Temp, Width};

/// Goes on at the translation of app address `target`, which is rcx. `otherwise` is the routine
/// that does the same where no code in line is wanted. The last temporary that was taken may be
/// `rax`.
pub(super) fn jump(form: &mut Form, target: Temp, rax: Option<Temp>, otherwise: Entry) {
    if !form.looks_up_in_line() {
        return form.jump(otherwise);
    }
    let [index, word] = take(form, rax);
    let found = form.label();
    look_up(form, target, index, word);
    form.push(Op::IfZero {
        temp: target,
        to: found,
    });
    form.push(Op::Here { to: index.into() });
    form.jump(Entry::NotNear);
    form.place(found, &[target, index, word]);
    form.push(Op::StoreCell {
        cell: Cell::at(GOING_TO as i32),
        from: index.into(),
        width: Width::W64,
    });
    form.give(&[index, word]);
    form.give(&[target]);
    form.push(Op::JumpCell {
        cell: Cell::at(GOING_TO as i32),
    });
}

fn take(form: &mut Form, rax: Option<Temp>) -> [Temp; 2] {
    let (rax_itself, rdx) = (Need::fixed(Gpr::RAX), Need::fixed(Gpr::RDX));
    match rax {
        None => form.take([rax_itself, rdx]),
        Some(rax) => {
            let [word] = form.take([rdx]);
            [rax, word]
        }
    }
}

/// Notes where the program leaves for a lookup, by a register that gets the target then.
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

/// Leaves 0 in `target` if the entry is its own, and in `index` the entry's cache address.
fn look_up(form: &mut Form, target: Temp, index: Temp, word: Temp) {
    let (to, index, word) = (target.into(), index.into(), word.into());
    form.push(Op::NearIndex {
        to: index,
        from: to,
    });
    form.push(Op::LoadNear {
        to: word,
        index,
        disp: NEAR as i32,
    });
    form.push(Op::Lea {
        to,
        base: to,
        index: Some(word),
        disp: 0,
    });
    form.push(Op::LoadNear {
        to: index,
        index,
        disp: NEAR as i32 + 8,
    });
}
