//! Exits with their stubs, and the records that speak to the VM. The layout of
//! each is drawn in [`ppin_abi::record`].

use super::asm::Asm;
use super::fragment::Emitter;
use alloc::vec::Vec;
use core::mem::offset_of;
use ppin_abi::addr::AppPc;
use ppin_abi::area::{Entry, Spill};
use ppin_abi::context::Context;
use ppin_abi::record::{CallArg, CallRec, SyscallRec, Trap, stub};
use ppin_relocator::{Exit, RelocKind, Section};

/// Where a direct exit leads.
#[derive(Clone, Copy)]
pub(crate) struct ExitTo {
    pub target: AppPc,
    pub context: Context,
}

/// Records begin at multiples of this.
const RECORD_ALIGN: usize = 4;

/// A stub ([`stub`]), but for the field of its jump and what leads to the tail.
#[rustfmt::skip] // an instruction a line
const STUB: [u8; stub::LAST as usize] = {
    let [a, b, c, d] = Spill::Rcx.disp().to_le_bytes();
    let [i, j, k, l] = (-22i32).to_le_bytes();
    [
        0xff, 0x25, 0, 0, 0, 0,                     // stub:  jmp [rip + slot]
        0x65, 0x48, 0x89, 0x0c, 0x25, a, b, c, d,   // leave: mov gs:[Spill::Rcx], rcx
        0x48, 0x8d, 0x0d, i, j, k, l,               //        lea rcx, [rip + stub]
    ]
};

/// `jmp gs:[Entry::LeaveExit]`
const TAIL: [u8; stub::TAIL as usize] = {
    let [a, b, c, d] = Entry::LeaveExit.disp().to_le_bytes();
    [0x65, 0xff, 0x24, 0x25, a, b, c, d]
};

impl Emitter {
    /// `jmp exit`
    pub(crate) fn exit_jump(&mut self, to: ExitTo) {
        self.branch(&[0xe9], to);
    }

    /// `call exit`
    pub(crate) fn exit_call(&mut self, to: ExitTo) {
        self.branch(&[0xe8], to);
    }

    /// `jcc exit`, with the condition's number as in the opcode.
    pub(crate) fn exit_jcc(&mut self, condition: u8, to: ExitTo) {
        self.branch(&[0x0f, 0x80 | condition], to);
    }

    /// Offset that a branch of `opcode_len` bytes must start at, from here on, so
    /// that its field is aligned: bytes of padding.
    pub(crate) fn branch_padding(&self, start: u32, opcode_len: u32) -> u32 {
        (start + opcode_len).wrapping_neg() % 4
    }

    /// Pads, so that the rel32 field can be patched in one aligned store: by prefixes that mean
    /// nothing to a branch, since a `nop` would be one instruction more to run.
    fn branch(&mut self, opcode: &[u8], to: ExitTo) {
        const CS: u8 = 0x2e;
        let padding = self.branch_padding(self.hot.here(), opcode.len() as u32);
        self.hot.bytes(&[CS; 4][..padding as usize]);
        self.hot.bytes(opcode);
        self.exits.push(Exit {
            target: self.off(to.target),
            context: to.context,
            branch: self.hot.here(),
        });
        self.hot.push_i32(0);
    }

    /// The cold section: the stubs of the exits, then what has been written to it.
    pub(super) fn finish_cold(&mut self) -> Vec<u8> {
        let len = self.len_of_stubs();
        let mut all = Asm::with_capacity((len + self.cold.here()) as usize);
        for number in 0..self.exits.len() {
            all.bytes(&STUB);
            match stub::to_tail(number, self.exits.len()) {
                Some(distance) => all.bytes(&[0xeb, distance]),
                None => all.bytes(&TAIL),
            }
        }
        all.align(RECORD_ALIGN);
        all.bytes(&core::mem::take(&mut self.cold).into_bytes());
        for reloc in &mut self.relocs {
            if reloc.section == Section::Cold {
                reloc.at += len;
            }
            if let RelocKind::Cold(to) = &mut reloc.kind {
                *to += len;
            }
        }
        all.into_bytes()
    }

    /// How far behind its offset in [`Emitter::cold`] code or a record will lie.
    pub(crate) fn len_of_stubs(&self) -> u32 {
        stub::all(self.exits.len()).next_multiple_of(RECORD_ALIGN as u32)
    }

    /// Cold offset of a `SyscallRec` whose `resume` is `hot`, with the context behind it.
    pub(super) fn syscall_record(
        &mut self,
        pc: AppPc,
        next: AppPc,
        resume: u32,
        context: Context,
    ) -> u32 {
        let record = self.begin_record();
        let (pc, next) = (self.off(pc), self.off(next));
        self.cold.push_i32(pc.0);
        self.cold.push_i32(next.0);
        let resume_at = offset_of!(SyscallRec, resume);
        self.record_field(record, resume_at, RelocKind::Hot(resume));
        self.cold.u32(context.0);
        record
    }

    /// Cold offset of a `TrapRec`.
    pub(super) fn trap_record(&mut self, pc: AppPc, trap: Trap, context: Context) -> u32 {
        let record = self.begin_record();
        let pc = self.off(pc);
        self.cold.push_i32(pc.0);
        self.cold.u32(trap as u32);
        self.cold.u32(context.0);
        record
    }

    /// Cold offset of a `CallRec` whose `resume` is `hot`, with its arguments.
    pub(super) fn call_record(
        &mut self,
        pc: AppPc,
        routine: u16,
        args: &[CallArg],
        resume: u32,
    ) -> u32 {
        let record = self.begin_record();
        let pc = self.off(pc);
        let resume_at = offset_of!(CallRec, resume);
        self.record_field(record, resume_at, RelocKind::Hot(resume));
        self.cold.push_i32(pc.0);
        self.cold.bytes(&routine.to_le_bytes());
        self.cold.bytes(&(args.len() as u16).to_le_bytes());
        for arg in args {
            self.cold
                .bytes(&[arg.kind, arg.base, arg.index, arg.scale_seg]);
            self.cold.u32(arg.value[0]);
            self.cold.u32(arg.value[1]);
        }
        record
    }

    fn begin_record(&mut self) -> u32 {
        self.cold.align(RECORD_ALIGN);
        self.cold.here()
    }

    /// A field that holds the distance from its record to `kind`.
    fn record_field(&mut self, record: u32, offset: usize, kind: RelocKind) {
        let at = self.cold.here();
        debug_assert_eq!(at, record + offset as u32, "fields in the record's order");
        self.cold.push_i32(0);
        self.relocate_cold_at(at, -(offset as i32), kind);
    }
}
