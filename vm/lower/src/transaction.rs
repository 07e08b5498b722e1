//! Transactions never run in the cache: each aborts where it begins, as one may
//! at any time, and the app takes its fallback path.
//!
//! ```text
//! Target:  xbegin fallback
//! Becomes: xbegin over                      raises SIGILL, if the processor has none
//!          xabort 0
//! over:    mov eax, 0                       status: no reason given; flags kept
//!          jmp exit                         to `fallback`
//! ```

use super::site::Site;
use ppin_form::{Form, Gpr, Op, Reg, Width};

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    let (ins, context) = (site.id, form.exit_context());
    let to = Reg::from(Gpr::RAX);
    form.push(Op::Transaction { to });
    form.push(Op::Set {
        to,
        value: 0,
        width: Width::W32,
    });
    form.push(Op::ExitTaken { ins, context });
}
