//! Jumps to a fixed target.
//!
//! ```text
//! Target:  jmp target
//! Becomes: jmp exit                         rel32, aligned
//! ```
//! `nop`, if the trace follows it: each instruction has a place.

use super::site::Site;
use ppin_form::{Form, Op};

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    let (ins, context) = (site.id, form.exit_context());
    form.push(if site.ins.followed {
        Op::Nop
    } else {
        Op::ExitTaken { ins, context }
    });
}
