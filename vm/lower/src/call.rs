//! Calls of a fixed target. They end the trace, unless returns are paired.
//!
//! ```text
//! Target:  call target
//! Becomes: push qword [rip + slot]          the app's return address
//!          jmp exit                         rel32, aligned
//! ```
//! with more around it, and `call exit`, where returns are paired ([`super::paired`]).
//!
//! The pushed value is loaded from a slot, not built on the stack in two stores,
//! which would defeat the store forwarding that the return relies on.

use super::paired;
use super::site::Site;
use ppin_form::{Form, Op};

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    let (ins, context) = (site.id, form.exit_context());
    if form.calls_callees() {
        return paired::to_callee(form, site, context);
    }
    paired::call(form, site, &[], false, |form, _| {
        form.push(Op::ExitTaken { ins, context });
    });
}
