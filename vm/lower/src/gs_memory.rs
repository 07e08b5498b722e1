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
use ppin_abi::area::APP_GS_BASE;
use ppin_form::{Cell, Form, Gpr, Need, Op, Width};
use ppin_operand::rebased;

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    let (ins, raw) = (site.id, &site.ins.raw);
    // Trace selection has seen that there are some.
    let [base] = form.take([Need::one_of(rebased::bases(raw))]);
    let to = base.into();
    form.push(Op::LoadCell {
        to,
        cell: Cell::at(APP_GS_BASE as i32),
        width: Width::W64,
    });
    if let Some(own) = Gpr::holding(raw.memory_base()) {
        form.push(Op::Lea {
            to,
            base: own.into(),
            index: Some(to),
            disp: 0,
        });
    }
    form.push(Op::AppRebased { ins, base });
    form.give(&[base]);
}
