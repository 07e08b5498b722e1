//! Stores of 8 bytes that may announce a restartable sequence to the kernel: it must be
//! told of the translation instead. Watched where a sequence is at hand, and everywhere
//! in a program that builds descriptors as it runs.
//!
//! ```text
//! Target:  mov [m], v
//! Becomes: mov gs:[Spill::Rcx], rcx; mov gs:[Spill::Rdx], rdx
//!          mov gs:[Rseq::armed], 0           before the sequence only
//!          lea rcx, [m]
//!          mov rdx, gs:[Rseq::against]; lea rcx, [rcx + rdx]
//!          jrcxz field
//!          mov rdx, gs:[Spill::Rdx]; mov rcx, gs:[Spill::Rcx]
//!          mov [m], v
//!          jmp done
//!   field: mov rcx, v; mov gs:[Rseq::value], rcx
//!          jrcxz none                         in a sequence: 0 takes it back,
//!          compare rcx with expected          and the descriptor that is expected
//!          jrcxz ours                         gives way to that of this code
//!          mov rdx, gs:[Spill::Rdx]; lea rcx, [rip + record]; jmp gs:[Entry::LeaveTrap]
//!    none: mov gs:[Rseq::armed], 0; mov [m], 0
//!          jmp back
//!    ours: mov gs:[Rseq::armed], 1; mov [m], our descriptor
//!    back: mov rdx, gs:[Spill::Rdx]; mov rcx, gs:[Spill::Rcx]
//!    done:
//! ```
//! Elsewhere the VM makes the store.

use super::announce::{AGAINST, AGAINST_FS, Pair, VALUE, note_armed};
use super::site::Site;
use super::{rip_relative, verbatim};
use iced_x86::{Instruction, Register};
use ppin_abi::record::Trap;
use ppin_decode::Kind;
use ppin_form::{Form, Gpr, Op, Record, SequenceSlots, Width, ins_context};

/// The store. Behind `Announced` the kernel may abort the sequence that it announces.
pub fn lower(form: &mut Form, site: &Site<'_>) {
    let [field, done] = [(); 2].map(|()| form.label());
    let pair = Pair::take(form);
    if form.sequence.is_some_and(|slots| !slots.protected) {
        // What was announced last was another sequence.
        note_armed(form, false);
    }
    compare_with_field(form, site, pair);
    let temp = pair.value;
    form.push(Op::IfZero { temp, to: field });
    form.give(&pair.both());
    if site.ins.kind == Kind::RipRelative {
        rip_relative::lower(form, site);
    } else {
        verbatim::lower(form, site);
    }
    form.push(Op::GotoFar { to: done });
    form.place(field, &pair.both());
    load_value(form, &site.ins.raw, pair);
    let record = Record::Trap {
        pc: site.ins.pc(),
        trap: Trap::RseqStore,
        context: ins_context(form.context, site.ins.offset),
    };
    match form.sequence {
        Some(slots) => announce(form, &slots, site, pair, record),
        None => leave(form, site, pair, record),
    }
    form.place(done, &[]);
}

/// The VM makes the store.
fn leave(form: &mut Form, site: &Site<'_>, pair: Pair, record: Record) {
    pair.leave(form, record);
    form.gone(&pair.both());
    form.push(Op::Done { ins: site.id });
}

/// The store is to the field: 0 takes back what was announced, and the descriptor that is
/// expected gives way to that of this code.
fn announce(form: &mut Form, slots: &SequenceSlots, site: &Site<'_>, pair: Pair, record: Record) {
    let temp = pair.value;
    let [none, ours, back] = [(); 3].map(|()| form.label());
    form.push(Op::IfZero { temp, to: none });
    pair.compare_with_expected(form, slots);
    form.push(Op::IfZero { temp, to: ours });
    pair.leave(form, record);
    form.place(none, &pair.both());
    note_armed(form, false);
    pair.store_to_field(form);
    form.push(Op::Goto { to: back });
    form.place(ours, &pair.both());
    pair.announce(form, slots);
    form.place(back, &pair.both());
    form.push(Op::Done { ins: site.id });
    form.give(&pair.both());
}

/// `value` becomes 0 if it is the address of the registered field.
fn compare_with_field(form: &mut Form, site: &Site<'_>, pair: Pair) {
    let (to, ins) = (pair.value.into(), site.id);
    form.push(Op::LeaOperand { to, ins });
    let cell = if site.ins.raw.memory_segment() == Register::FS {
        AGAINST_FS
    } else {
        AGAINST
    };
    let (to, width) = (pair.other.into(), Width::W64);
    form.push(Op::LoadCell { to, cell, width });
    pair.add_other(form);
}

/// `value` and `Rseq::value` = what is to be stored.
fn load_value(form: &mut Form, raw: &Instruction, pair: Pair) {
    let (to, width) = (pair.value.into(), Width::W64);
    match Gpr::holding(raw.op1_register()) {
        Some(register) => {
            let from = register.into();
            form.push(Op::Move { to, from });
        }
        None => {
            let value = raw.immediate(1) as i32;
            form.push(Op::Set { to, value, width });
        }
    }
    let (cell, from) = (VALUE, to);
    form.push(Op::StoreCell { cell, from, width });
}
