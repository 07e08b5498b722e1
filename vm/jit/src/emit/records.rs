//! Branches that leave the fragment, and the records that speak to the VM. The layout of
//! each record is drawn in [`ppin_abi::record`].

use super::fragment::Emitter;
use core::mem::offset_of;
use ppin_abi::addr::AppPc;
use ppin_abi::context::Context;
use ppin_abi::record::{CallArg, CallRec, SyscallRec, Trap};
use ppin_relocator::{Exit, RelocKind};

/// Where a direct exit leads.
#[derive(Clone, Copy)]
pub(crate) struct ExitTo {
    pub target: AppPc,
    pub context: Context,
}

/// Records begin at multiples of this.
const RECORD_ALIGN: usize = 4;

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
