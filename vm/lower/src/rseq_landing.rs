//! A way into the middle of a restartable sequence, for what is branched or returned to from
//! outside.
//!
//! ```text
//!          mov gs:[Spill::Rcx], rcx; mov gs:[Spill::Rdx], rdx
//!          value of the registered field; if there is none, or it is 0: none
//!          if it is our descriptor: own; if the expected one of the app's: ours
//!          mov rdx, gs:[Spill::Rdx]; lea rcx, [rip + record]; jmp gs:[Entry::LeaveTrap]
//!    none: mov gs:[Rseq::armed], 0
//!          jmp go
//!    ours: mov [field], our descriptor
//!    own:  mov gs:[Rseq::armed], 1
//!    go:   mov rdx, gs:[Spill::Rdx]; mov rcx, gs:[Spill::Rcx]
//!          jmp the instruction in the sequence's translation
//! ```

use super::announce::{FIELD, Pair, note_armed};
use ppin_form::{Form, Op, Record};

/// Slots of the landing.
#[derive(Clone, Copy)]
pub struct Slots {
    /// Cache address to go on at.
    pub target: u16,
    /// Address of our descriptor.
    pub descriptor: u16,
    /// What makes 0 with that.
    pub against: u16,
    /// Address of the cell for what makes 0 with the app's.
    pub expected: u16,
}

/// The whole of it; `record` is for a value that the code does not know.
pub fn lower(form: &mut Form, slots: &Slots, record: Record) {
    let pair = Pair::take(form);
    let temp = pair.value;
    let [none, ours, own, go] = [(); 4].map(|()| form.label());
    pair.load(form, FIELD);
    form.push(Op::IfZero { temp, to: none });
    pair.follow(form);
    form.push(Op::IfZero { temp, to: none });
    compare_with_own(form, slots, pair);
    form.push(Op::IfZero { temp, to: own });
    compare_with_expected(form, slots, pair);
    form.push(Op::IfZero { temp, to: ours });
    pair.leave(form, record);
    form.place(none, &pair.both());
    note_armed(form, false);
    form.push(Op::Goto { to: go });
    form.place(ours, &pair.both());
    pair.load_other(form, slots.descriptor);
    move_other(form, pair);
    pair.store_to_field(form);
    form.place(own, &pair.both());
    note_armed(form, true);
    form.place(go, &pair.both());
    form.give(&pair.both());
    form.push(Op::JumpSlot { slot: slots.target });
}

/// `value` becomes 0 if it is our descriptor; `other` is what it was.
fn compare_with_own(form: &mut Form, slots: &Slots, pair: Pair) {
    pair.load_other(form, slots.against);
    let (value, other) = (pair.value.into(), pair.other.into());
    form.push(Op::Lea {
        to: other,
        base: value,
        index: Some(other),
        disp: 0,
    });
    form.push(Op::Swap { one: value, other });
}

/// `value` becomes 0 if `other` is the app's descriptor.
fn compare_with_expected(form: &mut Form, slots: &Slots, pair: Pair) {
    move_other(form, pair);
    pair.load_other(form, slots.expected);
    let to = pair.other.into();
    form.push(Op::Load { to, base: to });
    pair.add_other(form);
}

/// `value = other`
fn move_other(form: &mut Form, pair: Pair) {
    let (to, from) = (pair.value.into(), pair.other.into());
    form.push(Op::Move { to, from });
}
