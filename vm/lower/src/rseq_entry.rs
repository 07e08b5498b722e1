//! At the head of a restartable sequence: if the app has announced it, it is its translation
//! that the kernel must know. What is announced can have been cleared by the kernel before:
//! then the app was interrupted before the sequence, as happens natively.
//!
//! ```text
//!          mov gs:[Spill::Rcx], rcx; mov gs:[Spill::Rdx], rdx
//!          value of the registered field; if there is none, or it is 0: none
//!          if it is the expected one of the app's: ours
//!          mov rdx, gs:[Spill::Rdx]; lea rcx, [rip + record]; jmp gs:[Entry::LeaveTrap]
//!    none: mov gs:[Rseq::armed], 0
//!          jmp go
//!    ours: mov gs:[Rseq::armed], 1; mov [field], our descriptor
//!    go:   mov rdx, gs:[Spill::Rdx]; mov rcx, gs:[Spill::Rcx]
//! ```

use super::announce::{FIELD, Pair, note_armed};
use ppin_form::{Form, Op, Record, SequenceSlots};

/// The check; `record` is for a value that the code does not know.
pub fn lower(form: &mut Form, slots: &SequenceSlots, record: Record) {
    let pair = Pair::take(form);
    let temp = pair.value;
    let [none, ours, go] = [(); 3].map(|()| form.label());
    pair.load(form, FIELD);
    form.push(Op::IfZero { temp, to: none });
    pair.follow(form);
    form.push(Op::IfZero { temp, to: none });
    pair.compare_with_expected(form, slots);
    form.push(Op::IfZero { temp, to: ours });
    pair.leave(form, record);
    form.place(none, &pair.both());
    note_armed(form, false);
    form.push(Op::Goto { to: go });
    form.place(ours, &pair.both());
    pair.announce(form, slots);
    form.place(go, &pair.both());
    form.give(&pair.both());
}
