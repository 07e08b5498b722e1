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
use ppin_form::{Form, Op};

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    form.push(Op::AppAimed { ins: site.id });
}
