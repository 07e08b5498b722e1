//! Calls through a register or memory.
//!
//! ```text
//! Target:  call operand
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          mov rcx, operand
//!          push qword [rip + slot]          the app's return address
//!          jmp gs:[Entry::IblCall]          or in line ([`super::near`])
//! ```
//! The operand is read before the push, as the CPU does: `call [rsp + 8]` and
//! `call rsp` see the old stack pointer, and a fault finds nothing pushed. Where returns are
//! paired, there is more around the push ([`super::paired`]).

use super::site::Site;
use super::{near, paired};
use crate::form::{Form, Gpr, Need, Op};
use ppin_abi::area::Entry;

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    let ins = site.id;
    let [target] = form.take([Need::fixed(Gpr::RCX)]);
    let to = target.into();
    form.push(Op::LoadTarget { to, ins });
    paired::call(form, site, &[target], |form| {
        near::jump(form, target, Entry::IblCall);
    });
}
