//! Returns.
//!
//! ```text
//! Target:  ret n
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          pop rcx
//!          lea rsp, [rsp + n]               if n is not 0; leaves the flags alone
//!          jmp gs:[Entry::IblRet]          or IblJmp, if n is not 0
//! ```
//! The runtime's `ret` takes the word that has been popped from the stack. Behind `ret n` that is
//! not the word below rsp, and such a return is a mere jump.

use super::site::Site;
use crate::form::{Form, Gpr, Need, Op, Reg};
use iced_x86::Code;
use ppin_abi::area::Entry;
use ppin_abi::optimize::Optimize;

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    let [target] = form.take([Need::fixed(Gpr::RCX)]);
    form.push(Op::Pop { to: target.into() });
    if site.ins.raw.code() == Code::Retnq_imm16 {
        let stack = Reg::App(Gpr::RSP);
        form.push(Op::Lea {
            to: stack,
            base: stack,
            index: None,
            disp: i32::from(site.ins.raw.immediate16()),
        });
    }
    let on = form.optimize.has(Optimize::RETURNS) && form.sequence.is_none();
    let pairs = on && site.ins.raw.code() == Code::Retnq;
    form.jump(if pairs { Entry::IblRet } else { Entry::IblJmp });
}
