//! Exits with their stubs, and the records that speak to the VM. The layout of
//! each is drawn in [`ppin_abi::record`].

use super::fragment::Emitter;
use dynasm::dynasm;
use ppin_abi::addr::AppPc;
use ppin_abi::area::{Entry, Spill};
use ppin_abi::context::Context;
use ppin_abi::record::{CallArg, CallRec, ExitRec, SyscallRec, Trap};
use ppin_relocator::{Exit, RelocKind, SlotInit};

/// Where a direct exit leads.
#[derive(Clone, Copy)]
pub(crate) struct ExitTo {
    pub target: AppPc,
    pub context: Context,
    /// App instructions executed since the head when it is taken.
    pub executed: u32,
}

impl Emitter {
    /// `jmp exit`
    pub(crate) fn exit_jump(&mut self, to: ExitTo) {
        self.branch(&[0xe9], to);
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

    /// Pads, so that the rel32 field can be patched in one aligned store.
    fn branch(&mut self, opcode: &[u8], to: ExitTo) {
        let padding = self.branch_padding(self.hot.here(), opcode.len() as u32);
        self.hot.nops(padding);
        self.hot.bytes(opcode);
        self.hot.push_i32(0);
        self.exit_stub(to);
    }

    /// The stub for the branch whose field ends the hot code so far.
    fn exit_stub(&mut self, to: ExitTo) {
        let branch = self.hot.here() - 4;
        self.cold.align(4);
        let stub = self.cold.here();
        self.relocate_hot(RelocKind::Cold(stub));

        dynasm!(self.cold; .arch x64; jmp QWORD [rip + 0]);
        let leave = self.cold.here();
        let slot = self.slot(SlotInit::Cold(leave));
        self.relocate_cold_at(leave - 4, 4, RelocKind::Slot(slot));
        self.leave_exit();
        self.exit_record(to, slot, branch);
        self.exits.push(Exit {
            target: self.off(to.target),
            context: to.context,
            branch,
            stub,
            slot,
        });
    }

    /// The record follows directly, at the next multiple of 4.
    fn leave_exit(&mut self) {
        const LEA_AND_JMP: u32 = 7 + 8;
        let spill = Spill::Rcx.disp() as i32;
        let leave_exit = Entry::LeaveExit.disp() as i32;
        dynasm!(self.cold; .arch x64; gs mov [DWORD spill], rcx);
        let end = self.cold.here() + LEA_AND_JMP;
        let distance = (8 + end.next_multiple_of(4) - end) as i32;
        dynasm!(self.cold; .arch x64
            ; lea rcx, [rip + distance]
            ; gs jmp QWORD [DWORD leave_exit]
        );
    }

    fn exit_record(&mut self, to: ExitTo, slot: u16, branch: u32) {
        use core::mem::offset_of;
        let record = self.begin_record();
        let (target, head) = (self.off(to.target), self.off(self.head));
        self.cold.push_i32(target.0);
        self.cold.u32(to.context.0);
        self.record_field(record, offset_of!(ExitRec, slot), RelocKind::Slot(slot));
        self.record_field(record, offset_of!(ExitRec, branch), RelocKind::Hot(branch));
        self.cold.push_i32(head.0);
        self.cold.u32(to.executed);
    }

    /// Cold offset of a `SyscallRec` whose `resume` is `hot`.
    pub(crate) fn syscall_record(&mut self, pc: AppPc, next: AppPc, resume: u32) -> u32 {
        let record = self.begin_record();
        let (pc, next) = (self.off(pc), self.off(next));
        let context = self.exit_context();
        self.cold.push_i32(pc.0);
        self.cold.push_i32(next.0);
        let resume_at = core::mem::offset_of!(SyscallRec, resume);
        self.record_field(record, resume_at, RelocKind::Hot(resume));
        self.cold.u32(context.0);
        record
    }

    /// Cold offset of a `TrapRec`.
    pub(crate) fn trap_record(&mut self, pc: AppPc, trap: Trap, context: Context) -> u32 {
        let record = self.begin_record();
        let pc = self.off(pc);
        self.cold.push_i32(pc.0);
        self.cold.u32(trap as u32);
        self.cold.u32(context.0);
        record
    }

    /// Cold offset of a `CallRec` whose `resume` is `hot`, with its arguments.
    pub(crate) fn call_record(
        &mut self,
        pc: AppPc,
        routine: u16,
        args: &[CallArg],
        resume: u32,
    ) -> u32 {
        let record = self.begin_record();
        let pc = self.off(pc);
        let resume_at = core::mem::offset_of!(CallRec, resume);
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
        self.cold.align(4);
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
