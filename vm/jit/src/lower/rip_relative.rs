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

use super::site::Site;
use crate::emit::Emitter;
use crate::operand::absolute::{self, Form};
use ppin_abi::addr::AppPc;

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    let form = if emitter.is_low() {
        absolute::convert(site.ins, site.bytes)
    } else {
        Form::copy(site.bytes, site.ins.disp_at)
    };
    // Trace selection has tried the conversion before.
    if let Some(form) = form {
        emitter.form(&form, AppPc(site.ins.raw.ip_rel_memory_address()));
    }
}
