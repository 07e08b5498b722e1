//! Ways out of the trace, and what tells the VM of them.

use super::encode::opcode;
use super::records::ExitTo;
use super::writer::Writer;
use ppin_abi::context::Context;
use ppin_abi::record::BUFFER_FULL;
use ppin_decode::Kind;
use ppin_form::{InsId, Record, RecordId, Temp};
use ppin_relocator::RelocKind;

/// Length of a `jmp short`.
const SHORT: u32 = 2;
/// Length of a `jmp rel32`, and of its opcode.
const NEAR: u32 = 5;
const NEAR_OPCODE: u32 = 1;

impl Writer<'_> {
    pub(super) fn exit_taken(&mut self, ins: InsId, context: Context) {
        let target = self.source.ins(ins).leaves_to();
        let exit = ExitTo { target, context };
        self.emitter.exit_jump(exit);
    }

    pub(super) fn exit_call(&mut self, ins: InsId, context: Context) {
        let target = self.source.ins(ins).target();
        let exit = ExitTo { target, context };
        self.emitter.exit_call(exit);
    }

    pub(super) fn exit_next(&mut self, ins: InsId, context: Context) {
        let target = self.source.ins(ins).next();
        self.emitter.exit_jump(ExitTo { target, context });
    }

    /// ```text
    /// jcc exit                                  rel32, aligned
    /// or:     loop taken
    ///         jmp short over
    ///  taken: jmp exit                          rel32, aligned
    ///  over:
    /// ```
    pub(super) fn exit_if(&mut self, id: InsId, context: Context) {
        let ins = self.source.ins(id);
        let target = ins.leaves_to();
        let exit = ExitTo { target, context };
        if ins.kind != Kind::ShortJump {
            return self.emitter.exit_jcc(ins.leaves_on(), exit);
        }
        let Some((_distance, branch)) = self.source.bytes(ins).split_last() else {
            return;
        };
        let emitter = &mut *self.emitter;
        emitter.hot.bytes(branch);
        emitter.hot.push(SHORT as u8);
        let padding = emitter.branch_padding(emitter.hot.here() + SHORT, NEAR_OPCODE);
        emitter.hot.bytes(&[0xeb, (padding + NEAR) as u8]);
        emitter.exit_jump(exit);
    }

    /// The same, to the translation of another instruction.
    pub(super) fn within(&mut self, ins: InsId, to: InsId) {
        let ins = self.source.ins(ins);
        let hot = &mut self.emitter.hot;
        match (ins.kind, self.source.bytes(ins).split_last()) {
            (Kind::CondJump, _) => hot.bytes(&[0x0f, 0x80 | ins.condition()]),
            (Kind::ShortJump, Some((_distance, branch))) => {
                hot.bytes(branch);
                hot.bytes(&[SHORT as u8, 0xeb, NEAR as u8, 0xe9]);
            }
            _ => hot.bytes(&[0xe9]),
        }
        self.field_within(to);
    }

    /// `jmp` to the translation of another instruction.
    pub(super) fn go_within(&mut self, to: InsId) {
        self.emitter.hot.bytes(&[0xe9]);
        self.field_within(to);
    }

    fn field_within(&mut self, to: InsId) {
        self.emitter.hot.push_i32(0);
        let field = self.emitter.hot.here() - 4;
        self.emitter.branches.push((field, usize::from(to.0)));
    }

    /// `lea to, [rip + record]`, with a new record; if the VM comes back, then behind the
    /// jump that follows.
    pub(super) fn record(&mut self, to: Temp, record: RecordId) {
        const LEA_AND_JUMP: u32 = 7 + 8;
        let resume = self.emitter.hot.here() + LEA_AND_JUMP;
        let record = match &self.form.records[usize::from(record.0)] {
            Record::Trap { pc, trap, context } => self.emitter.trap_record(*pc, *trap, *context),
            Record::Full { ins, buffer, again } => {
                let pc = self.source.ins(*ins).pc();
                let resume = self.agains[usize::from(again.0)];
                let routine = BUFFER_FULL + buffer;
                self.emitter.call_record(pc, routine, &[], resume)
            }
            Record::Syscall { ins } => {
                let ins = self.source.ins(*ins);
                let context = self.form.exit_context();
                self.emitter
                    .syscall_record(ins.pc(), ins.next(), resume, context)
            }
            Record::Call { ins, routine, args } => {
                let args = &self.form.args[args.start as usize..args.end as usize];
                let pc = self.source.ins(*ins).pc();
                self.emitter.call_record(pc, *routine, args, resume)
            }
        };
        let to = self.allocation.register(to).number();
        let cold = RelocKind::Cold(record);
        self.emitter.rip(true, opcode::LEA, to, cold);
    }
}
