//! Memory operands in the gs segment, which is the runtime's. The base that the app
//! has given it is kept in the thread area.
//!
//! ```text
//! Target:  op ..., gs:[base + index * scale + disp]
//! Becomes: mov gs:[Spill], s                s: a register that op does not touch
//!          mov s, gs:[app_gs_base]
//!          lea s, [base + s]                if there is a base
//!          op ..., [s + index * scale + disp]
//!          mov s, gs:[Spill]
//! ```
//! No flag changes, and a fault of `op` finds nothing done. Forms that this does not
//! fit (`string operations, 32-bit addresses, a push of which the operand depends`) are
//! rare; they run in their own place, with the app's gs in the CPU (`Trap::Segment`).

use super::site::Site;
use crate::emit::Emitter;
use crate::operand::rebased;

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    // Trace selection has asked before.
    let Some(form) = rebased::form(&site.ins.raw) else {
        return;
    };
    emitter.save(form.scratch);
    emitter.row(site.ins.offset, form.scratch.bit(), 0);
    emitter.load_app_gs_base(form.scratch);
    emitter.hot.bytes(&form.add_base);
    emitter.hot.bytes(&form.code);
    emitter.unspill(form.scratch);
}
