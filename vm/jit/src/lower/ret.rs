//! Returns.
//!
//! ```text
//! Target:  ret n
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          pop rcx
//!          lea rsp, [rsp + n]               if n is not 0; leaves the flags alone
//!          jmp gs:[Entry::IblRet]
//! ```

use super::site::Site;
use crate::form::{Form, Gpr, Need, Op, Reg};
use iced_x86::Code;
use ppin_abi::area::Entry;

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
    form.jump(Entry::IblRet);
}
