//! Operands that are addressed relative to the instruction, `lea` included.
//!
//! ```text
//! Target:  op ..., [rip + disp]
//! Becomes: op ..., [rip + distance to the same address]      (Reloc App)
//! or:      op ..., [abs32]                                   (Reloc AppAbs32, low images)
//! ```
//! A 32-bit distance reaches from the cache to the image, because the engine puts
//! one near the other; where it cannot, in the lowest 2 GiB, every address of the
//! image fits an absolute field instead.

use super::Site;
use super::absolute::{self, Form};
use crate::emit::Emitter;
use ppin_abi::addr::AppPc;
use ppin_relocator::RelocKind;

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    let form = if emitter.is_low() {
        absolute::convert(site.ins, site.bytes)
    } else {
        Form::copy(site.bytes, site.ins.disp_at)
    };
    // Trace selection has tried the conversion before.
    if let Some(form) = form {
        emit_form(emitter, &form, AppPc(site.ins.raw.ip_rel_memory_address()));
    }
}

/// Emits `form`, whose field is to stand for `operand`.
pub(crate) fn emit_form(emitter: &mut Emitter, form: &Form, operand: AppPc) {
    let start = emitter.hot.here();
    emitter.hot.bytes(form.bytes());
    let field = u32::from(form.disp_at);
    let behind = i32::from(form.len) - i32::from(form.disp_at);
    let operand = emitter.off(operand);
    let (pc_bias, kind) = if emitter.is_low() {
        (0, RelocKind::AppAbs32(operand))
    } else {
        (behind, RelocKind::App(operand))
    };
    emitter.relocate_hot_at(start + field, pc_bias, kind);
}
