//! Code that compares its source: the app's bytes in memory with those that were
//! translated, right before the instructions made from them run.
//!
//! ```text
//!           mov gs:[Spill::Rax], rax; mov gs:[Spill::Rcx], rcx
//!           lahf; seto al
//!           the comparison                                     (emit/compare.rs)
//!           add al, 127; sahf                                  unless the flags are dead
//!           mov rcx, gs:[Spill::Rcx]; mov rax, gs:[Spill::Rax]
//! ```
//! Fewer than 8 bytes are compared without rcx.

use ppin_form::{COMPARED_AT_ONCE, Form, Gpr, InsId, Need, Op, Temp};

/// Compares the source of `first ..= last`, of `len` bytes. `dead`: nobody looks at the flags
/// behind it.
pub(crate) fn lower(form: &mut Form, first: InsId, last: InsId, len: usize, dead: bool) {
    form.push(Op::Comparing { on: true });
    let (rax, rcx) = (Need::fixed(Gpr::RAX), Need::fixed(Gpr::RCX));
    if len < COMPARED_AT_ONCE {
        let [flags] = form.take([rax]);
        compare(form, (first, last), flags, None, dead);
        form.give(&[flags]);
    } else {
        let [flags, word] = form.take([rax, rcx]);
        compare(form, (first, last), flags, Some(word), dead);
        form.give(&[flags, word]);
    }
    form.push(Op::Itself { repeatable: false });
}

fn compare(
    form: &mut Form,
    (first, last): (InsId, InsId),
    flags: Temp,
    word: Option<Temp>,
    dead: bool,
) {
    form.push(Op::SaveFlags { to: flags });
    form.push(Op::CompareSource {
        first,
        last,
        flags,
        word,
    });
    form.push(Op::Comparing { on: false });
    form.push(Op::RestoreFlags { from: flags, dead });
}
