//! Records of buffers: fields, what they are made of, and whether there is room.

use super::encode::{Memory, opcode};
use super::writer::Writer;
use ppin_abi::addr::ImageOff;
use ppin_form::{Cell, Label, Reg, Sum, Width};
use ppin_operand::absolute::Form;
use ppin_relocator::{SlotInit, pc_flag};

impl Writer<'_> {
    /// `cmp byte cell, 0; jne to`
    pub(super) fn if_byte(&mut self, cell: Cell, to: Label) {
        self.emitter.hot.compare_byte(cell.disp.cast_unsigned());
        self.near(&[0x0f, 0x85], to);
    }

    /// `movzx to32, byte cell`
    pub(super) fn load_byte(&mut self, to: Reg, cell: Cell) {
        let to = self.reg(to);
        self.emitter.hot.load_byte(to, cell.disp.cast_unsigned());
    }

    /// `mov cell, from`
    pub(super) fn store_field(&mut self, cell: Cell, from: Reg, bytes: u8) {
        let (from, memory) = (self.reg(from).number(), self.memory_of(cell));
        self.emitter.hot.sized(bytes, opcode::STORE, from, memory);
    }

    /// `mov [base], from`
    pub(super) fn store_bytes(&mut self, base: Reg, from: Reg, bytes: u8) {
        let memory = Memory {
            gs: false,
            base: Some(self.reg(base)),
            index: None,
            scale: 0,
            disp: 0,
        };
        let from = self.reg(from).number();
        // If it faults, flags are where they are now.
        self.emitter.row(pc_flag::STORES_RESULT);
        self.emitter.hot.sized(bytes, opcode::STORE, from, memory);
    }

    /// `mov cell, value`
    pub(super) fn set_field(&mut self, cell: Cell, value: i32, bytes: u8) {
        let memory = self.memory_of(cell);
        let hot = &mut self.emitter.hot;
        hot.sized(bytes, opcode::SET, 0, memory);
        let value = value.to_le_bytes();
        hot.bytes(&value[..usize::from(bytes).min(value.len())]);
    }

    /// `lea to, [base + index * scale + disp]`
    pub(super) fn lea_sum(&mut self, to: Reg, sum: Sum) {
        let memory = Memory {
            gs: false,
            base: sum.base,
            index: sum.index,
            scale: sum.scale,
            disp: sum.disp,
        };
        let (to, wide) = (self.reg(to).number(), sum.width == Width::W64);
        self.emitter.hot.memory(wide, opcode::LEA, to, memory);
    }

    /// `lea to, [rip + off]`, or what does the same in a low image.
    pub(super) fn lea_app(&mut self, to: Reg, off: ImageOff) {
        let to = self.reg(to).number();
        let modrm = (to & 7) << 3 | 0b101;
        let code = [0x48 | to >> 3 << 2, opcode::LEA, modrm, 0, 0, 0, 0];
        let form = Form::copy(&code, 3);
        let form = if self.emitter.is_low() {
            form.and_then(Form::to_absolute)
        } else {
            form
        };
        if let Some(form) = form {
            let operand = off.at(self.emitter.image);
            self.emitter.form(&form, operand);
        }
    }

    /// `mov to, slot`
    pub(super) fn load_app_far(&mut self, to: Reg, off: ImageOff) {
        let slot = self.emitter.slot(SlotInit::App(off));
        self.slot(opcode::LOAD, to, slot);
    }
}
