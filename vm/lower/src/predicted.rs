//! Jumps and calls through a cell at a fixed place, as the linker makes them for what lies in other
//! images: nearly always they go to the same place. What the cell holds is compared with that, and if it
//! is the same, the thread goes straight on: no table is looked at, nothing is compared where it arrives,
//! and the processor need not tell the jump's targets apart.
//!
//! ```text
//!        mov gs:[Spill::Rax], rax         rcx, which is put away, is what the cell holds
//!        mov rax, [rip + slot]            minus what it held
//!        lea rcx, [rcx + rax + 1]         1 if it is the same
//!        loop elsewhere                   or `jrcxz`: see super::meant
//!        mov rax, gs:[rcx + Spill::Rax]   rcx is 0
//!        mov rcx, gs:[rcx + Spill::Rcx]
//!        jmp [rip + slot + 8]             where it goes on
//! elsewhere:
//!        not rax
//!        lea rcx, [rcx + rax + 1]         what the cell holds
//!        lea rax, [rip + 0]               who asks
//!        jmp gs:[Entry::Mispredicted]
//! ```
//! (`ppin_abi::predicted` reads this.) The cell is the program's, which may write to it at any time, so it
//! is read each time. The two slots are written to once, by the VM (`ppin_codecache::predictions`); until
//! then they say that the cell holds the address of the trace itself, which would be right, too.

use ppin_abi::area::Entry;
use ppin_abi::optimize::Optimize;
use ppin_decode::Ins;
use ppin_form::{Form, Gpr, Label, Need, Op, Reg, Temp};

/// Whether `ins` is such a jump or call, in code that looks up its targets in line.
pub(super) fn is_predictable(form: &Form, ins: &Ins) -> bool {
    let raw = &ins.raw;
    let fixed = raw.is_ip_rel_memory_operand() && !raw.has_segment_prefix();
    fixed && form.optimize.has(Optimize::PREDICT) && form.looks_up_in_line()
}

/// Goes on at the translation of app address `target`, which is rcx. The last temporary that was taken may be
/// `rax`.
pub(super) fn jump(form: &mut Form, target: Temp, rax: Option<Temp>) {
    let own = rax.unwrap_or_else(|| {
        let [own] = form.take([Need::fixed(Gpr::RAX)]);
        own
    });
    form.push(Op::LoadPrediction { to: own.into() });
    let elsewhere = form.label();
    compare(form, target, own.into(), elsewhere, &[target, own]);
    form.give_by(target, &[own]);
    form.give_by(target, &[target]);
    form.push(Op::JumpPredicted);
    form.place(elsewhere, &[target, own]);
    form.push(Op::Not { reg: own.into() });
    add(form, target, own.into(), 1);
    form.push(Op::Here { to: own.into() });
    form.jump(Entry::Mispredicted);
}

/// Goes `elsewhere` if `temp`, which is rcx, and `other`, which is added to it, do not make 0. The temporaries `live` have
/// been taken.
pub(super) fn compare(form: &mut Form, temp: Temp, other: Reg, elsewhere: Label, live: &[Temp]) {
    if form.optimize.has(Optimize::UNTAKEN) {
        add(form, temp, other, 1);
        return form.push(Op::UnlessOne {
            temp,
            to: elsewhere,
        });
    }
    let same = form.label();
    add(form, temp, other, 0);
    form.push(Op::IfZero { temp, to: same });
    form.push(Op::Goto { to: elsewhere });
    form.place(same, live);
}

fn add(form: &mut Form, to: Temp, other: Reg, more: i32) {
    form.push(Op::Lea {
        to: to.into(),
        base: to.into(),
        index: Some(other),
        disp: more,
    });
}
