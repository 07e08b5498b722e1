//! Code that compares its source: the app's bytes in memory with those that were
//! translated, right before the instructions made from them run.
//!
//! ```text
//!           mov gs:[Spill::Rax], rax; mov gs:[Spill::Rcx], rcx
//!           lahf; seto al
//!           the comparison                                     (ppin-jit, emit/compare.rs)
//!           lea rcx, [head]; not rcx                           on entry, if stores may come
//!           lea rcx, [base + rcx + reach.end]                  close (ppin-liveness)
//!           cmp rcx, width; jb near                            (ppin-jit, emit/compare.rs)
//!           add al, 127; sahf                                  unless the flags are dead
//!           mov rcx, gs:[Spill::Rcx]; mov rax, gs:[Spill::Rax]
//! ```
//! Fewer than 8 bytes are compared without rcx.

use ppin_abi::addr::ImageOff;
use ppin_form::{COMPARED_AT_ONCE, Form, Gpr, InsId, Need, Op, Temp};
use ppin_liveness::apart::Apart;

/// Stores that meet the source if their base is near.
#[derive(Clone, Copy)]
pub struct Near {
    head: ImageOff,
    base: Gpr,
    /// Behind the last byte that they reach, from the base.
    end: i32,
    /// How many values of the base are near.
    width: i32,
}

impl Near {
    /// Of stores that are `apart`, and `len` bytes of source from `head` on. A store from `base + a` on meets a
    /// source of these bytes, up to `base + b`, if `head - b < base < head + len - a`.
    pub fn new(head: ImageOff, len: u32, apart: &Apart) -> Self {
        let reach = &apart.reach;
        Self {
            head,
            base: apart.base,
            end: reach.end,
            width: reach.end - reach.start + len as i32 - 1,
        }
    }
}

/// Compares the source of the instructions `first ..= last`, of `len` bytes, and whether their base is `near`.
/// `dead`: nobody looks at the flags behind it.
pub fn lower(form: &mut Form, stretch: (InsId, InsId), len: usize, near: Option<Near>, dead: bool) {
    form.push(Op::Comparing { on: true });
    let (rax, rcx) = (Need::fixed(Gpr::RAX), Need::fixed(Gpr::RCX));
    if len < COMPARED_AT_ONCE && near.is_none() {
        let [flags] = form.take([rax]);
        form.push(Op::SaveFlags { to: flags });
        compare(form, stretch, flags, None);
        restore(form, flags, dead);
        form.give(&[flags]);
    } else {
        let [flags, word] = form.take([rax, rcx]);
        form.push(Op::SaveFlags { to: flags });
        compare(form, stretch, flags, Some(word));
        if let Some(near) = near {
            leave_if_near(form, stretch.0, word, near);
        }
        restore(form, flags, dead);
        form.give(&[flags, word]);
    }
    form.push(Op::Itself { repeatable: false });
}

fn compare(form: &mut Form, (first, last): (InsId, InsId), flags: Temp, word: Option<Temp>) {
    form.push(Op::CompareSource {
        first,
        last,
        flags,
        word,
    });
}

fn restore(form: &mut Form, flags: Temp, dead: bool) {
    form.push(Op::Comparing { on: false });
    form.push(Op::RestoreFlags { from: flags, dead });
}

/// Leaves for the VM at the instruction `first` if the base is near.
fn leave_if_near(form: &mut Form, first: InsId, word: Temp, near: Near) {
    let to = word.into();
    form.push(Op::LeaApp { to, off: near.head });
    form.push(Op::Not { reg: to });
    form.push(Op::Lea {
        to,
        base: near.base.into(),
        index: Some(to),
        disp: near.end,
    });
    let width = near.width;
    form.push(Op::LeaveIfBelow {
        ins: first,
        word,
        width,
    });
}
