//! Pieces of code that tell the kernel of a restartable sequence.

use core::mem::offset_of;
use ppin_abi::area::{Entry, RSEQ, Rseq};
use ppin_form::{Cell, Form, Gpr, Need, Op, Record, SequenceSlots, Temp, Width};

/// The registered field's address.
pub(super) const FIELD: Cell = cell(offset_of!(Rseq, field));
/// What the app is about to store there.
pub(super) const VALUE: Cell = cell(offset_of!(Rseq, value));
/// Whether the sequence at hand has been announced.
pub(super) const ARMED: Cell = cell(offset_of!(Rseq, armed));
/// What makes 0 with the field's address.
pub(super) const AGAINST: Cell = cell(offset_of!(Rseq, against));
/// The same for addresses relative to the fs segment.
pub(super) const AGAINST_FS: Cell = cell(offset_of!(Rseq, against_fs));

const fn cell(offset: usize) -> Cell {
    Cell::at((RSEQ as usize + offset) as i32)
}

/// What all these pieces work with: a register for branches, and another one.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    /// rcx, on which the code branches.
    pub value: Temp,
    pub other: Temp,
}

impl Pair {
    pub(super) fn take(form: &mut Form) -> Self {
        let [value, other] = form.take([Need::fixed(Gpr::RCX), Need::fixed(Gpr::RDX)]);
        Self { value, other }
    }

    pub(super) fn both(self) -> [Temp; 2] {
        [self.value, self.other]
    }

    /// `value = cell`
    pub(super) fn load(self, form: &mut Form, cell: Cell) {
        let (to, width) = (self.value.into(), Width::W64);
        form.push(Op::LoadCell { to, cell, width });
    }

    /// `value = [value]`
    pub(super) fn follow(self, form: &mut Form) {
        let to = self.value.into();
        form.push(Op::Load { to, base: to });
    }

    /// `other = slot`
    pub(super) fn load_other(self, form: &mut Form, slot: u16) {
        let to = self.other.into();
        form.push(Op::LoadSlot { to, slot });
    }

    /// `value += other`: 0 if they belong together.
    pub(super) fn add_other(self, form: &mut Form) {
        form.push(Op::Lea {
            to: self.value.into(),
            base: self.value.into(),
            index: Some(self.other.into()),
            disp: 0,
        });
    }

    /// `value` becomes 0 if it is the address of the app's descriptor.
    pub(super) fn compare_with_expected(self, form: &mut Form, slots: &SequenceSlots) {
        self.load_other(form, slots.expected);
        self.add_other(form);
    }

    /// `[the registered field] = value`
    pub(super) fn store_to_field(self, form: &mut Form) {
        let (to, base) = (self.other.into(), self.other.into());
        let (cell, width) = (FIELD, Width::W64);
        form.push(Op::LoadCell { to, cell, width });
        let from = self.value.into();
        form.push(Op::Store { base, from });
    }

    /// Tells the kernel of this code. It may abort from the next instruction on.
    pub(super) fn announce(self, form: &mut Form, slots: &SequenceSlots) {
        note_armed(form, true);
        let to = self.value.into();
        let slot = slots.descriptor;
        form.push(Op::LeaSlot { to, slot });
        self.store_to_field(form);
        form.push(Op::Announced);
    }

    /// Leaves for the VM, all registers but rcx in place.
    pub(super) fn leave(self, form: &mut Form, record: Record) {
        form.push(Op::Refill { temp: self.other });
        form.record(self.value, record);
        form.jump(Entry::LeaveTrap);
    }
}

/// Notes whether the kernel has been told of this code.
pub(super) fn note_armed(form: &mut Form, armed: bool) {
    form.push(Op::SetCell {
        cell: ARMED,
        value: i32::from(armed),
        width: Width::W64,
    });
}
