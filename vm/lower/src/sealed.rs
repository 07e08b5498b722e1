//! Jumps and calls through cells that the loader seals: it fills them in, and makes them read-only before
//! the image's code runs (`PT_GNU_RELRO`; all that calls to other images go by, where the image is linked with
//! `-z now`). What does not change need not be looked at: a slot of ours leads where the cell does.
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
//!
//! Target:  call [rip + cell]
//! Becomes: call over                        as any call ([`super::paired`]), whose code ends with
//!          push qword [rip + next]          the app's return address
//!          jmp [rip + slot]
//!          lea rsp, [rsp + 8]               not yet: the cell is read before anything is pushed
//!          mov gs:[Spill::Rcx], rcx
//!          mov rcx, [rip + cell]
//!          push qword [rip + next]
//!          ...                              the same
//! ```
//! (If that cell cannot be read, the fault finds the words below the stack written to.) The VM lets the slot
//! lead elsewhere while the cell is read-only, and no longer (`ppin_codecache::sealed`).

use super::site::Site;
use super::{near, paired, predicted};
use ppin_abi::addr::{AppPc, ImageBase, ImageRange};
use ppin_abi::area::Entry;
use ppin_abi::optimize::Optimize;
use ppin_decode::Ins;
use ppin_form::{Form, Gpr, Need, Op, Reg};

/// Whether `ins`, of the image at `image`, is a jump or call through a cell of the `sealed` part.
pub fn is_sealed(form: &Form, ins: &Ins, image: ImageBase, sealed: ImageRange) -> bool {
    let on = form.optimize.has(Optimize::SEALED) && predicted::is_predictable(form, ins);
    let cell = || AppPc(ins.raw.ip_rel_memory_address()).offset_from(image);
    on && cell().is_some_and(|it| sealed.holds_word(it))
}

pub(super) fn jump(form: &mut Form, site: &Site<'_>) {
    if !form.passes_on {
        form.push(Op::JumpSealed { ins: site.id });
    }
    let [target] = form.take([Need::fixed(Gpr::RCX)]);
    near::target(form, target, site.id);
    ask(form);
}

pub(super) fn call(form: &mut Form, site: &Site<'_>) {
    let ins = site.id;
    paired::call(form, site, &[], false, |form, _| {
        form.push(Op::JumpSealed { ins });
        unpush(form);
        let [target] = form.take([Need::fixed(Gpr::RCX)]);
        near::target(form, target, ins);
        form.push(Op::PushNext { ins });
        ask(form);
    });
}

/// Takes the return address from the app's stack again; leaves the flags alone.
fn unpush(form: &mut Form) {
    let stack = Reg::App(Gpr::RSP);
    form.push(Op::Lea {
        to: stack,
        base: stack,
        index: None,
        disp: 8,
    });
}

/// Goes where rcx says, and says who asks.
fn ask(form: &mut Form) {
    let [asks] = form.take([Need::fixed(Gpr::RAX)]);
    form.push(Op::LeaSealed { to: asks.into() });
    form.push(Op::Here { to: asks.into() });
    form.jump(Entry::Mispredicted);
}
