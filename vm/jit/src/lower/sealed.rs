//! Jumps through cells that the loader seals: it fills them in, and makes them read-only before the image's code
//! runs (`PT_GNU_RELRO`; all that calls to other images go by, where the image is linked with `-z now`). What
//! does not change need not be looked at: a slot of ours leads where the cell does.
//!
//! ```text
//! Target:  jmp [rip + cell]
//! Becomes: jmp [rip + slot]                 behind this, until it is known to lead elsewhere
//!          mov gs:[Spill::Rcx], rcx
//!          mov rcx, [rip + cell]
//!          mov gs:[Spill::Rax], rax
//!          lea rax, [rip + slot]            for the VM (`ppin_abi::predicted`)
//!          lea rax, [rip + 0]               who asks
//!          jmp gs:[Entry::Mispredicted]
//! ```
//! The VM lets the slot lead elsewhere while the cell is read-only, and no longer (`ppin_codecache::sealed`).

use super::near;
use super::predicted;
use super::site::Site;
use ppin_abi::addr::{AppPc, ImageBase, ImageRange};
use ppin_abi::area::Entry;
use ppin_abi::optimize::Optimize;
use ppin_decode::{Ins, Kind};
use ppin_form::{Form, Gpr, Need, Op};

/// Whether `last`, which ends a trace of the image at `image`, is a jump through a cell of the `sealed` part.
pub(crate) fn is_sealed(form: &Form, last: &Ins, image: ImageBase, sealed: ImageRange) -> bool {
    let jumps = last.kind == Kind::IndirectJump && form.optimize.has(Optimize::SEALED);
    let cell = || AppPc(last.raw.ip_rel_memory_address()).offset_from(image);
    jumps && predicted::is_predictable(form, last) && cell().is_some_and(|it| sealed.holds_word(it))
}

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    form.push(Op::JumpSealed { ins: site.id });
    let [target] = form.take([Need::fixed(Gpr::RCX)]);
    near::target(form, target, site.id);
    let [asks] = form.take([Need::fixed(Gpr::RAX)]);
    form.push(Op::LeaSealed { to: asks.into() });
    form.push(Op::Here { to: asks.into() });
    form.jump(Entry::Mispredicted);
}
