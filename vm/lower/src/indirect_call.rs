//! Calls through a register or memory.
//!
//! ```text
//! Target:  call operand
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          mov rcx, operand
//!          push qword [rip + slot]          the app's return address
//!          jmp gs:[Entry::IblCall]          or in line ([`super::near`])
//! ```
//! Through a cell that does not change it goes another way ([`super::sealed`]). Where it is not in line, it
//! is noted who asks: `lea rcx, [rip + 0]; mov gs:[LEFT_AT], rcx; mov rcx, gs:[Spill::Rcx]` comes before the
//! operand is read.
//! The operand is read before the push, as the CPU does: `call [rsp + 8]` and
//! `call rsp` see the old stack pointer, and a fault finds nothing pushed. Where returns are
//! paired, there is more around the push ([`super::paired`]).

use super::sealed::is_sealed;
use super::site::Site;
use super::{near, paired, sealed};
use ppin_abi::area::Entry;
use ppin_form::{Form, Gpr, Need};

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    if is_sealed(form, site.ins, site.image, site.sealed) {
        return sealed::call(form, site);
    }
    let [target] = form.take([Need::fixed(Gpr::RCX)]);
    near::target(form, target, site.id);
    let lent = form.looks_up_in_line();
    paired::call(form, site, &[target], lent, |form, rax| {
        near::branch(form, site, target, rax, Entry::IblCall);
    });
}
