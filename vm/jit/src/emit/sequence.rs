//! Code inside a restartable sequence, which the kernel may leave for the abort handler
//! at any instruction. The handler must find the app's registers as they are then, so
//! before a borrowed register loses its value, the thread area says that it is spilled:
//!
//! ```text
//!          mov gs:[Spill::Rcx], rcx
//!          mov gs:[Rseq::spilled], 1 << Rcx     both hold the value here,
//!          ...
//!          mov rcx, gs:[Spill::Rcx]
//!          mov gs:[Rseq::spilled], 0            and here
//! ```
//! and the kernel is told of a stub:
//!
//! ```text
//!          .byte the signature
//! abort:   mov gs:[Rseq::rcx], rcx
//!          lea rcx, [rip + record]              Trap::RseqAbort
//!          jmp gs:[Entry::LeaveTrap]
//! ```

use super::fragment::{Emitter, InSequence};
use crate::request::Sequence;
use core::mem::offset_of;
use dynasm::dynasm;
use ppin_abi::area::{Entry, RSEQ, Rseq, Spill};
use ppin_abi::context::Context;
use ppin_abi::record::Trap;
use ppin_relocator::{RelocKind, SlotInit};

/// Displacement from `gs` of the registered field's address.
pub(crate) const FIELD: i32 = disp(offset_of!(Rseq, field));
/// Of what the app is about to store there.
pub(crate) const VALUE: i32 = disp(offset_of!(Rseq, value));
const SPILLED: i32 = disp(offset_of!(Rseq, spilled));
const RCX: i32 = disp(offset_of!(Rseq, rcx));
const ARMED: i32 = disp(offset_of!(Rseq, armed));
/// Length of the `mov` that marks.
const MARK: u32 = 13;
/// Words of `struct rseq_cs`.
const DESCRIPTOR: usize = 4;

const fn disp(offset: usize) -> i32 {
    (RSEQ as usize + offset) as i32
}

impl Emitter {
    /// All code from here on belongs to `sequence`.
    pub(crate) fn begin_sequence(&mut self, sequence: &Sequence) -> InSequence {
        let context = self.exit_context();
        let record = self.trap_record(sequence.abort, Trap::RseqAbort, context);
        self.cold.bytes(&sequence.signature);
        let abort = self.cold.here();
        dynasm!(self.cold; .arch x64
            ; gs mov [DWORD RCX], rcx
            ; lea rcx, [rip + 0]
        );
        let end = self.cold.here();
        self.relocate_cold_at(end - 4, 4, RelocKind::Cold(record));
        let leave = Entry::LeaveTrap.disp() as i32;
        dynasm!(self.cold; .arch x64; gs jmp QWORD [DWORD leave]);
        let expected = self.slot(SlotInit::Cold(0));
        let [descriptor, ..] = [(); DESCRIPTOR].map(|()| self.slot(SlotInit::Cold(0)));
        let state = InSequence {
            abort,
            descriptor,
            expected,
            protected: false,
        };
        self.sequence = Some(state);
        state
    }

    /// The sequence this code belongs to.
    pub(crate) fn sequence(&self) -> Option<InSequence> {
        self.sequence
    }

    /// The kernel may abort from here on.
    pub(crate) fn protect(&mut self) {
        if let Some(state) = &mut self.sequence {
            state.protected = true;
        }
    }

    /// The kernel does not abort any more.
    pub(crate) fn end_sequence(&mut self) {
        self.sequence = None;
        self.marked = 0;
    }

    /// Tells the abort handler what is spilled.
    pub(super) fn mark(&mut self, spilled: u8) {
        if self.sequence.is_some() && self.marked != spilled {
            self.marked = spilled;
            let spilled = i32::from(spilled);
            dynasm!(self.hot; .arch x64; gs mov QWORD [DWORD SPILLED], spilled);
        }
    }

    /// Bytes that a change of what is spilled takes.
    pub(super) fn mark_len(&self) -> u32 {
        if self.sequence.is_some() { MARK } else { 0 }
    }

    /// Code that is branched to with rcx and rdx spilled begins here.
    pub(crate) fn arrive_spilled(&mut self, app: u32) {
        if self.sequence.is_some() {
            self.marked = RCX_RDX;
        }
        self.row(app, RCX_RDX, 0);
    }

    /// Spills rcx and rdx.
    pub(crate) fn borrow_two(&mut self, app: u32) {
        self.save_rcx();
        self.save_rdx();
        self.row(app, RCX_RDX, 0);
    }

    /// Gives them back; what follows belongs to the instruction at `app`.
    pub(crate) fn give_back_two(&mut self, app: u32) {
        self.unspill_rdx();
        self.unspill_rcx();
        self.row(app, 0, 0);
    }

    /// `jrcxz`, to be aimed by [`super::Asm::land`].
    pub(crate) fn jrcxz(&mut self) -> u32 {
        self.hot.bytes(&[0xe3, 0]);
        self.hot.here()
    }

    /// A short `jmp`, likewise.
    pub(crate) fn short_jump(&mut self) -> u32 {
        self.hot.bytes(&[0xeb, 0]);
        self.hot.here()
    }

    /// Notes whether the kernel has been told of this code.
    pub(crate) fn note_armed(&mut self, armed: bool) {
        let armed = i32::from(armed);
        dynasm!(self.hot; .arch x64; gs mov QWORD [DWORD ARMED], armed);
    }

    /// Before a sequence: what was announced last was another.
    pub(crate) fn nothing_announced(&mut self) {
        if self.sequence.is_some_and(|state| !state.protected) {
            self.note_armed(false);
        }
    }

    /// Tells the kernel of this code; rcx and rdx are free. It may abort from the next
    /// instruction on.
    pub(crate) fn announce(&mut self, state: &InSequence) {
        self.note_armed(true);
        dynasm!(self.hot; .arch x64; lea rcx, [rip + 0]);
        self.relocate_hot(RelocKind::Slot(state.descriptor));
        self.store_to_field();
    }

    /// `mov [the registered field], rcx`, by rdx.
    pub(crate) fn store_to_field(&mut self) {
        dynasm!(self.hot; .arch x64
            ; gs mov rdx, [DWORD FIELD]
            ; mov [rdx], rcx
        );
    }

    /// rcx becomes 0 if it is the address of the app's descriptor; destroys rdx.
    pub(crate) fn compare_with_expected(&mut self, state: &InSequence) {
        dynasm!(self.hot; .arch x64; mov rdx, [rip + 0]);
        self.relocate_hot(RelocKind::Slot(state.expected));
        dynasm!(self.hot; .arch x64; lea rcx, [rcx + rdx]);
    }

    /// Leaves for the VM with everything but rcx in place, which is spilled.
    pub(crate) fn leave_by(&mut self, record: u32) {
        self.point_rcx_at(record);
        self.jump_to(Entry::LeaveTrap);
    }

    /// At the head of a sequence: if the app has announced it, it is its translation
    /// that the kernel must know. What is announced can have been cleared by the kernel
    /// before: then the app was interrupted before the sequence, as happens natively.
    pub(crate) fn check_entry(&mut self, sequence: &Sequence, context: Context) -> u32 {
        let Some(state) = self.sequence else {
            return self.hot.here();
        };
        let record = self.trap_record(sequence.start, Trap::RseqEntry, context);
        self.borrow_two(0);
        dynasm!(self.hot; .arch x64; gs mov rcx, [DWORD FIELD]);
        let unregistered = self.jrcxz();
        dynasm!(self.hot; .arch x64; mov rcx, [rcx]);
        let nothing = self.jrcxz();
        self.compare_with_expected(&state);
        let announced = self.jrcxz();
        self.unspill_rdx();
        self.leave_by(record);
        self.hot.land(unregistered);
        self.hot.land(nothing);
        self.note_armed(false);
        let go = self.short_jump();
        self.hot.land(announced);
        self.announce(&state);
        let start = self.hot.here();
        self.protect();
        self.hot.land(go);
        self.give_back_two(0);
        start
    }

    /// Behind a routine of the tool, in which the thread was elsewhere: an interruption
    /// there has made the kernel forget the sequence, and aborts it here.
    ///
    /// ```text
    ///          mov rcx, gs:[Rseq::armed]; jrcxz ok
    ///          mov rcx, [the registered field]; jrcxz gone
    ///          jmp ok
    ///  gone:   jmp abort
    ///  ok:
    /// ```
    pub(super) fn still_announced(&mut self, app: u32) {
        let Some(state) = self.sequence.filter(|state| state.protected) else {
            return;
        };
        self.spill_rcx(app);
        dynasm!(self.hot; .arch x64; gs mov rcx, [DWORD ARMED]);
        let unarmed = self.jrcxz();
        dynasm!(self.hot; .arch x64
            ; gs mov rcx, [DWORD FIELD]
            ; mov rcx, [rcx]
        );
        let gone = self.jrcxz();
        let ok = self.short_jump();
        self.hot.land(gone);
        self.hot.bytes(&[0xe9]);
        self.hot.push_i32(0);
        self.relocate_hot(RelocKind::Cold(state.abort));
        self.hot.land(unarmed);
        self.hot.land(ok);
        self.unspill_rcx();
        self.row(app, 0, 0);
    }
}

const RCX_RDX: u8 = Spill::Rcx.bit() | Spill::Rdx.bit();
