//! Whether a branch that comes here is meant for what follows: a difference of two app addresses, that
//! where the app goes and that of what follows, is 0 then.
//!
//! ```text
//!        mov by, imm64                    whose constant is `jmp gs:[entry]`
//!        ...
//!        lea rcx, [difference + 1]
//!        loop that jump                   not taken if the difference is 0
//! ```
//! A branch that is taken needs room in the processor's memory of branches, of which a program that is
//! spread over many has too little (`benches/RESULTS.md`, 2026-11-26); one that is not taken needs none.
//! `loop` reaches 128 bytes. If no code lies there that is not run through, as before an arrival, the jump
//! is a constant, loaded to a register that gets another value next. Where `loop` is slow
//! ([`Optimize::UNTAKEN`] is off):
//!
//! ```text
//!        lea rcx, [difference]
//!        jrcxz same
//!        jmp gs:[entry]                   or a short one to that
//! same:
//! ```
//! Both leave the flags alone: where the branch goes instead, some may be needed. Either way rcx is the
//! difference where it jumps, and 0 behind it.

use ppin_abi::area::Entry;
use ppin_abi::optimize::Optimize;
use ppin_form::{Form, Op, Reg, Temp};

/// Goes to `entry` if the difference is not 0, which `difference` makes of the first of `temps`, rcx, and
/// the second, `more` being added to it.
pub(super) fn check(
    form: &mut Form,
    temps: [Temp; 2],
    entry: Entry,
    difference: impl FnOnce(&mut Form, [Reg; 2], i32),
) {
    let [target, own] = temps;
    let registers = temps.map(Reg::from);
    if form.optimize.has(Optimize::UNTAKEN) {
        form.push(Op::HiddenJump { by: own, entry });
        difference(form, registers, 1);
        form.push(Op::JumpUnlessOne {
            temp: target,
            entry,
        });
        return;
    }
    let same = form.label();
    difference(form, registers, 0);
    form.push(Op::IfZero {
        temp: target,
        to: same,
    });
    form.jump(entry);
    form.place(same, &temps);
}
