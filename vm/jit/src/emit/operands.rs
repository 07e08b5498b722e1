//! Instructions of the app with another operand than they have, and parts of them.

use super::writer::Writer;
use ppin_abi::addr::AppPc;
use ppin_form::{Gpr, InsId, Reg, Temp};
use ppin_operand::absolute::{self, Form};
use ppin_operand::{address, rebased, target};

impl Writer<'_> {
    /// The instruction, its rip-relative operand aimed at the same address.
    pub(super) fn aimed(&mut self, ins: InsId) {
        let ins = self.source.ins(ins);
        let bytes = self.source.bytes(ins);
        let form = if self.emitter.is_low() {
            absolute::convert(ins, bytes)
        } else {
            Form::copy(bytes, ins.disp_at)
        };
        // Trace selection has tried the conversion before.
        if let Some(form) = form {
            let operand = AppPc(ins.raw.ip_rel_memory_address());
            self.emitter.form(&form, operand);
        }
    }

    /// The instruction, its operand on top of `base`.
    pub(super) fn rebased(&mut self, ins: InsId, base: Temp) {
        let base = self.allocation.register(base);
        // The rule has asked for registers that have a form.
        if let Some(code) = rebased::form(&self.source.ins(ins).raw, base) {
            self.emitter.hot.bytes(&code);
        }
    }

    /// `mov to, target`
    pub(super) fn load_target(&mut self, to: Reg, ins: InsId) {
        let to = self.reg(to);
        let ins = self.source.ins(ins);
        if ins.raw.op0_register() == to.named() {
            return;
        }
        let bytes = self.source.bytes(ins);
        // The instruction has an opcode and a ModRM byte: else it had not been decoded.
        if let Some(form) = target::load(ins, bytes, to) {
            self.code_of(form, AppPc(ins.raw.ip_rel_memory_address()));
        }
    }

    /// `lea to, operand`
    pub(super) fn lea_operand(&mut self, to: Reg, ins: InsId) {
        let to: Gpr = self.reg(to);
        let ins = self.source.ins(ins);
        if let Some(form) = address::load(ins, to) {
            self.code_of(form, AppPc(ins.raw.ip_rel_memory_address()));
        }
    }

    /// `form`, whose field stands for `operand` if it has one.
    fn code_of(&mut self, form: Form, operand: AppPc) {
        if form.disp_at == 0 {
            return self.emitter.hot.bytes(form.bytes());
        }
        let form = if self.emitter.is_low() {
            form.to_absolute()
        } else {
            Some(form)
        };
        if let Some(form) = form {
            self.emitter.form(&form, operand);
        }
    }
}
