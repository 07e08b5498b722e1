//! Jumps through a register or memory.
//!
//! ```text
//! Target:  jmp operand
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          mov rcx, operand
//!          jmp gs:[Entry::IblJmp]          or in line ([`super::near`])
//! ```
//! Through a cell that does not change it goes another way ([`super::sealed`]), and by a table of such, too ([`super::cases`]). Where it is not in line, it
//! is noted who asks: `lea rcx, [rip + 0]; mov gs:[LEFT_AT], rcx; mov rcx, gs:[Spill::Rcx]` comes before the
//! operand is read.

use super::site::Site;
use super::{cases, near, sealed};
use ppin_abi::area::Entry;
use ppin_form::{Form, Gpr, Need};

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    if form.leaves_sealed {
        return sealed::jump(form, site);
    }
    if let Some(jump) = form.cases {
        return cases::jump(form, site, jump);
    }
    let [target] = form.take([Need::fixed(Gpr::RCX)]);
    near::target(form, target, site.id);
    near::branch(form, site, target, None, Entry::IblJmp);
}
