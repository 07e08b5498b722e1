//! Jumps through a register or memory.
//!
//! ```text
//! Target:  jmp operand
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          mov rcx, operand
//!          jmp gs:[Entry::IblJmp]          or in line ([`super::near`])
//! ```

use super::near;
use super::site::Site;
use crate::form::{Form, Gpr, Need, Op};
use ppin_abi::area::Entry;

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    let [target] = form.take([Need::fixed(Gpr::RCX)]);
    let to = target.into();
    form.push(Op::LoadTarget { to, ins: site.id });
    near::jump(form, target, Entry::IblJmp);
}
