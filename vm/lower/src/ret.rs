//! Returns.
//!
//! ```text
//! Target:  ret
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          mov gs:[Spill::Rdx], rdx
//!          mov dl, 47                       (a count of bits is the lowest six)
//!          shrx rcx, [rsp], rdx             0, if a program can have this address
//!          lea rdx, [rsp - 8]               whose low 16 bits say where the return cache says
//!          mov rsp, gs:[rcx + RETURNS_AT]   where the call expects the return; else a fault
//!          mov rcx, [rdx + 8]               the app's return address
//!          mov sp, dx
//!          ret
//!
//! Target:  ret n
//! Becomes: the same, with                  where the stack pointer comes back
//!          lea rdx, [rdx + n]              before the last instruction
//!
//! Target:  ret                              behind what writes its word
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          pop rcx
//!          ...                              as an indirect jump ([`super::near`])
//!
//! Target:  ret, ret n                       where returns are not paired
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          lea rcx, [rip + 0]
//!          mov gs:[LEFT_AT], rcx
//!          pop rcx
//!          lea rsp, [rsp + n]               if n is not 0; leaves the flags alone
//!          jmp gs:[Entry::IblRet]           or IblJmp, if n is not 0
//! ```
//! Behind the call ([`super::paired`]), the stack pointer comes back, and the app's return address is
//! compared. Nothing is written to the app's stack, and few stores are made: processors make one in a cycle, and
//! calls and returns have more of them than anything else.
//!
//! A mere jump is a return whose word the instruction before has written (`push r11; ret`): programs with a stack of their own
//! return so, Guile's compiled code for example. Their calls all come from the same place on the CPU's stack, and the
//! return cache would know the last one only.
//!
//! A CPU refuses to return to what is no address, and the fault is the return's. So one whose address has other
//! bits than a program's faults by itself, before it has gone; the VM then looks the address up for it
//! (`ppin_process::gate::ret`). Without [`Optimize::CANONICAL`] it notes where it is, which takes a store:
//!
//! ```text
//!          lea rdx, [rip + 0]
//!          mov gs:[LEFT_AT], rdx
//!          mov rcx, [rsp]
//!          lea rdx, [rsp - 8]
//!          mov rsp, gs:[RETURNS_AT]
//! ```

use super::near;
use super::site::Site;
use iced_x86::{Code, Instruction};
use ppin_abi::area::Entry;
use ppin_abi::optimize::Optimize;
use ppin_decode::{Ins, top};
use ppin_form::{Form, Gpr, Need, Op, Reg};

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    let further = further(&site.ins.raw);
    if !pairs(form) {
        jump(form, further);
    } else if is_mere_jump(form, further, site.before) {
        jump_near(form);
    } else {
        paired(form, further);
    }
}

/// Whether a return behind `before` is paired with a call.
pub(super) fn is_paired(form: &Form, before: Option<&Ins>) -> bool {
    pairs(form) && !is_mere_jump(form, 0, before)
}

fn pairs(form: &Form) -> bool {
    form.optimize.has(Optimize::RETURNS) && form.sequence.is_none()
}

fn is_mere_jump(form: &Form, further: i32, before: Option<&Ins>) -> bool {
    further == 0 && form.looks_up_in_line() && before.is_some_and(top::writes)
}

/// Bytes that a return takes from the stack beside its address.
fn further(raw: &Instruction) -> i32 {
    match raw.code() {
        Code::Retnq_imm16 => raw.immediate16().into(),
        _ => 0,
    }
}

fn jump_near(form: &mut Form) {
    let [target] = form.take([Need::fixed(Gpr::RCX)]);
    form.push(Op::Pop { to: target.into() });
    near::jump(form, target, None, Entry::IblRet);
}

fn paired(form: &mut Form, further: i32) {
    let [target, word] = form.take([Need::fixed(Gpr::RCX), Need::fixed(Gpr::RDX)]);
    let (target, by) = (target.into(), word.into());
    if form.optimize.has(Optimize::CANONICAL) {
        form.push(Op::StackAwayChecked { target, by });
    } else {
        near::note(form, word);
        form.push(Op::LoadStack { to: target });
        form.push(Op::StackAway { by });
    }
    move_on(form, by, further);
    form.push(Op::Return);
}

fn jump(form: &mut Form, further: i32) {
    let [target] = form.take([Need::fixed(Gpr::RCX)]);
    near::note(form, target);
    form.push(Op::Pop { to: target.into() });
    move_on(form, Reg::App(Gpr::RSP), further);
    form.jump(match further {
        0 => Entry::IblRet,
        _ => Entry::IblJmp,
    });
}

/// Adds to `stack`, and leaves the flags alone.
fn move_on(form: &mut Form, stack: Reg, further: i32) {
    if further != 0 {
        form.push(Op::Lea {
            to: stack,
            base: stack,
            index: None,
            disp: further,
        });
    }
}
