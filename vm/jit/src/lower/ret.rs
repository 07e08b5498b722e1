//! Returns.
//!
//! ```text
//! Target:  ret
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          mov gs:[Spill::Rdx], rdx
//!          mov edx, 47
//!          shrx rcx, [rsp], rdx             0, if a program can have this address
//!          lea rdx, [rsp - 8]               whose low 16 bits say where the return cache says
//!          mov rsp, gs:[rcx + RETURNS_AT]   where the call expects the return; else a fault
//!          mov rcx, [rdx + 8]               the app's return address
//!          mov sp, dx
//!          ret
//!
//! Target:  ret n                            or where returns are not paired
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          lea rcx, [rip + 0]
//!          mov gs:[LEFT_AT], rcx
//!          pop rcx
//!          lea rsp, [rsp + n]               if n is not 0; leaves the flags alone
//!          jmp gs:[Entry::IblRet]           or IblJmp, if n is not 0
//! ```
//! Behind the call ([`super::paired`]), the stack pointer comes back, and the app's return address is
//! compared. Nothing is written to the app's stack, and few stores are made: processors make one in a cycle, and
//! calls and returns have more of them than anything else. `ret n` is a mere jump.
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
use iced_x86::Code;
use ppin_abi::area::Entry;
use ppin_abi::optimize::Optimize;
use ppin_form::{Form, Gpr, Need, Op, Reg};

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    let on = form.optimize.has(Optimize::RETURNS) && form.sequence.is_none();
    if on && site.ins.raw.code() == Code::Retnq {
        paired(form);
    } else {
        jump(form, site);
    }
}

fn paired(form: &mut Form) {
    let [target, word] = form.take([Need::fixed(Gpr::RCX), Need::fixed(Gpr::RDX)]);
    let (target, by) = (target.into(), word.into());
    if form.optimize.has(Optimize::CANONICAL) {
        form.push(Op::StackAwayChecked { target, by });
    } else {
        near::note(form, word);
        form.push(Op::LoadStack { to: target });
        form.push(Op::StackAway { by });
    }
    form.push(Op::Return);
}

fn jump(form: &mut Form, site: &Site<'_>) {
    let [target] = form.take([Need::fixed(Gpr::RCX)]);
    near::note(form, target);
    form.push(Op::Pop { to: target.into() });
    let further = site.ins.raw.code() == Code::Retnq_imm16;
    if further {
        let stack = Reg::App(Gpr::RSP);
        form.push(Op::Lea {
            to: stack,
            base: stack,
            index: None,
            disp: i32::from(site.ins.raw.immediate16()),
        });
    }
    form.jump(if further {
        Entry::IblJmp
    } else {
        Entry::IblRet
    });
}
