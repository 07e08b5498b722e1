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

use super::encode::{Memory, opcode};
use super::fragment::{Emitter, InSequence};
use crate::request::Sequence;
use core::mem::offset_of;
use dynasm::dynasm;
use ppin_abi::area::{Entry, RSEQ, Rseq};
use ppin_abi::context::Context;
use ppin_abi::record::Trap;
use ppin_form::SequenceSlots;
use ppin_relocator::{RelocKind, SlotInit};

const SPILLED: i32 = (RSEQ as usize + offset_of!(Rseq, spilled)) as i32;
const RCX: i32 = (RSEQ as usize + offset_of!(Rseq, rcx)) as i32;
/// Words of `struct rseq_cs`.
const DESCRIPTOR: usize = 4;

impl Emitter {
    /// All code from here on belongs to `sequence`, whose abort handler is entered with
    /// `context`.
    pub(crate) fn begin_sequence(&mut self, sequence: &Sequence, context: Context) -> InSequence {
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
        let slots = SequenceSlots {
            descriptor,
            expected,
            protected: false,
        };
        let state = InSequence { abort, slots };
        self.sequence = Some(state);
        state
    }

    /// The kernel does not abort any more.
    pub(crate) fn end_sequence(&mut self) {
        self.sequence = None;
        self.marked = 0;
    }

    /// Tells the abort handler what is spilled, if that is another than before.
    #[inline]
    pub(super) fn mark(&mut self) {
        if self.sequence.is_some() {
            self.mark_spilled();
        }
    }

    fn mark_spilled(&mut self) {
        // The allocator leaves registers at home in a sequence.
        let spilled = self.spilled.home_mask().unwrap_or_default();
        if self.marked != spilled {
            self.marked = spilled;
            self.hot.memory(true, opcode::SET, 0, Memory::cell(SPILLED));
            self.hot.push_i32(i32::from(spilled));
        }
    }

    /// Code begins that is branched to from where the thread area names what is spilled here.
    pub(super) fn arrive_marked(&mut self) {
        if self.sequence.is_some() {
            self.marked = self.spilled.home_mask().unwrap_or_default();
        }
    }

    /// `jmp abort`
    pub(super) fn jump_to_abort(&mut self) {
        let Some(state) = self.sequence else { return };
        self.hot.bytes(&[0xe9]);
        self.hot.push_i32(0);
        self.relocate_hot(RelocKind::Cold(state.abort));
    }
}
