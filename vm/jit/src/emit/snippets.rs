//! Short pieces of hot code.

use super::encode::{Memory, opcode};
use super::fragment::Emitter;
use ppin_abi::addr::AppPc;
use ppin_abi::area::Entry;
use ppin_abi::spills::SpillSlot;
use ppin_form::Gpr;
use ppin_operand::absolute::Form;
use ppin_relocator::{RelocKind, SlotInit};

impl Emitter {
    /// `mov gs:[slot], register`
    pub(super) fn save(&mut self, register: Gpr, slot: SpillSlot) {
        self.hot.cell(opcode::STORE, register.number(), slot.disp());
    }

    /// `mov register, gs:[slot]`
    pub(super) fn fill(&mut self, register: Gpr, slot: SpillSlot) {
        self.hot.cell(opcode::LOAD, register.number(), slot.disp());
    }

    /// `mov register, gs:[zero + slot]`, where register `zero` is 0. (On Zen 5, a value that was stored
    /// comes back at once if an instruction names a register besides the displacement, else after seven
    /// cycles.)
    pub(super) fn fill_by(&mut self, zero: Gpr, register: Gpr, slot: SpillSlot) {
        let cell = Memory {
            base: Some(zero),
            ..Memory::cell(slot.disp() as i32)
        };
        self.hot.memory(true, opcode::LOAD, register.number(), cell);
    }

    /// `jmp gs:[entry]`
    pub(super) fn jump_to(&mut self, entry: Entry) {
        let cell = Memory::cell(entry.disp() as i32);
        self.hot.memory(false, opcode::INDIRECT, 4, cell);
    }

    /// `op register, [rip + target]`; `register` may be a part of the opcode.
    pub(super) fn rip(&mut self, wide: bool, opcode: u8, register: u8, target: RelocKind) {
        self.hot.rip_relative(wide, opcode, register);
        self.relocate_hot(target);
    }

    /// The code of `form`, whose field is to stand for `operand`.
    pub(super) fn form(&mut self, form: &Form, operand: AppPc) {
        let start = self.hot.here();
        self.hot.bytes(form.bytes());
        let field = u32::from(form.disp_at);
        let behind = i32::from(form.len) - i32::from(form.disp_at);
        let operand = self.off(operand);
        let (pc_bias, kind) = if self.is_low() {
            (0, RelocKind::AppAbs32(operand))
        } else {
            (behind, RelocKind::App(operand))
        };
        self.relocate_hot_at(start + field, pc_bias, kind);
    }

    /// A new slot for an app address.
    pub(super) fn app_slot(&mut self, pc: AppPc) -> u16 {
        let off = self.off(pc);
        self.slot(SlotInit::App(off))
    }

    /// The first of two new slots: of where a jump is predicted to go, and where that goes on.
    pub(super) fn prediction_slots(&mut self) -> u16 {
        let slot = self.slot(SlotInit::Prediction(self.off(self.head)));
        self.slot(SlotInit::Entry);
        slot
    }

    /// The first of two new slots: of where a jump leads that goes through `cell`, and of that.
    pub(super) fn sealed_slots(&mut self, cell: AppPc) -> u16 {
        let slot = self.slot(SlotInit::Behind(0));
        self.app_slot(cell);
        slot
    }

    /// A new slot for what is compared with where a call is returned to, `pc`.
    pub(super) fn return_slot(&mut self, pc: AppPc) -> u16 {
        let off = self.off(pc);
        self.slot(SlotInit::Landing(off))
    }
}
