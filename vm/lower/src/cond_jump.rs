//! Branches on a condition; the trace goes on where they are not taken, or if it follows them, where they are.
//!
//! ```text
//! Target:  jcc target
//! Becomes: jcc exit                         rel32, aligned; the opposite condition, if it is followed
//!
//! Target:  loop/loope/loopne/jrcxz/jecxz target      an 8-bit distance only
//! Becomes: loop taken
//!          jmp short over
//!   taken: jmp exit                         rel32, aligned
//!   over:
//! ```

use super::site::Site;
use ppin_form::{Form, Op};

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    let (ins, context) = (site.id, form.exit_context());
    form.push(Op::ExitIf { ins, context });
}
