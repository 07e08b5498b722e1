//! Exits with their stubs, and the records that speak to the VM. The layout of
//! each is drawn in [`ppin_abi::record`].

use super::fragment::Emitter;
use core::mem::offset_of;
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

/// Length of the stub's `jmp [rip + slot]`.
const JUMP_LEN: u32 = 6;

/// The stub of an exit at a multiple of 4, up to its record (see [`ExitRec`]).
#[rustfmt::skip] // an instruction a line
const STUB: [u8; 32] = {
    let [a, b, c, d] = Spill::Rcx.disp().to_le_bytes();
    let [e, f, g, h] = Entry::LeaveExit.disp().to_le_bytes();
    [
        0xff, 0x25, 0, 0, 0, 0,                     // stub:  jmp [rip + slot]
        0x65, 0x48, 0x89, 0x0c, 0x25, a, b, c, d,   // leave: mov gs:[Spill::Rcx], rcx
        0x48, 0x8d, 0x0d, 10, 0, 0, 0,              //        lea rcx, [rip + record]
        0x65, 0xff, 0x24, 0x25, e, f, g, h,         //        jmp gs:[Entry::LeaveExit]
        0xcc, 0xcc,                                 // record
    ]
};

const _: () = {
    assert!(offset_of!(ExitRec, target) == 0 && offset_of!(ExitRec, context) == 4);
    assert!(offset_of!(ExitRec, executed) == 6 && offset_of!(ExitRec, slot) == 8);
    assert!(offset_of!(ExitRec, branch) == 12 && STUB.len() == ExitRec::FROM_STUB as usize);
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
        self.hot.push_i32(0);
        self.exit_stub(to);
    }

    /// The stub for the branch whose field ends the hot code so far.
    fn exit_stub(&mut self, to: ExitTo) {
        let branch = self.hot.here() - 4;
        self.cold.align(4);
        let stub = self.cold.here();
        self.cold.bytes(&STUB);
        self.exit_record(to);
        self.exits.push(Exit {
            target: self.off(to.target),
            context: to.context,
            branch,
            stub,
            // Known at the end.
            slot: 0,
        });
    }

    /// The exits get their slots, which follow all others: each leads behind the jump of its stub.
    pub(super) fn give_exits_slots(&mut self) {
        let mut exits = core::mem::take(&mut self.exits);
        for exit in &mut exits {
            exit.slot = self.slot(SlotInit::Cold(exit.stub + JUMP_LEN));
        }
        self.exits = exits;
    }

    /// An `ExitRec`; its relative fields are written when it is placed.
    fn exit_record(&mut self, to: ExitTo) {
        debug_assert!(to.context.0 <= u16::MAX.into() && to.executed <= u16::MAX.into());
        let target = self.off(to.target).0.cast_unsigned();
        let how = to.context.0 & 0xffff | to.executed << 16;
        self.cold.words(&[target, how, 0, 0]);
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
