//! Values, cells of the thread area and slots.

use super::encode::{Memory, opcode};
use super::writer::Writer;
use ppin_abi::addr::AppPc;
use ppin_abi::area::{ABOVE_WORD, ADDRESS_BITS, ASK_FOR_BITS, BAR, RETURN_WORD, RETURNS_AT};
use ppin_form::{Cell, Gpr, InsId, Reg, Temp, Width};
use ppin_relocator::{RelocKind, SlotInit};

const ABOVE: i32 = ABOVE_WORD as i32;

impl Writer<'_> {
    /// From a register of the app that is taken: from where it is kept.
    pub(super) fn assign(&mut self, to: Reg, from: Reg) {
        let (to, register) = (self.reg(to), self.reg(from));
        let kept = match from {
            Reg::App(register) => self.emitter.spilled.slot_of(register.number()),
            Reg::Temp(_) => None,
        };
        match kept {
            Some(slot) => self.emitter.fill(to, slot),
            None => self.emitter.hot.registers(opcode::STORE, register, to),
        }
    }

    pub(super) fn set(&mut self, to: Reg, value: i32, width: Width) {
        let to = self.reg(to);
        self.emitter.hot.set_register(wide(width), to, value);
    }

    pub(super) fn swap(&mut self, one: Reg, other: Reg) {
        let (one, other) = (self.reg(one), self.reg(other));
        self.emitter.hot.registers(opcode::XCHG, other, one);
    }

    /// `not reg`
    pub(super) fn not(&mut self, reg: Reg) {
        let number = self.reg(reg).number();
        let code = [0x48 | number >> 3, 0xf7, 0xd0 | number & 7];
        self.emitter.hot.bytes(&code);
    }

    pub(super) fn lea(&mut self, to: Reg, base: Reg, index: Option<Reg>, disp: i32) {
        let memory = Memory {
            gs: false,
            base: Some(self.reg(base)),
            index: index.map(|index| self.reg(index)),
            scale: 0,
            disp,
        };
        let to = self.reg(to).number();
        self.emitter.hot.memory(true, opcode::LEA, to, memory);
    }

    /// `op reg, [base]`
    pub(super) fn at(&mut self, opcode: u8, reg: Reg, base: Reg) {
        let (reg, base) = (self.reg(reg).number(), self.reg(base));
        self.emitter.hot.memory(true, opcode, reg, Memory::at(base));
    }

    pub(super) fn pop(&mut self, to: Reg) {
        let to = self.reg(to);
        self.emitter.hot.pop(to);
    }

    /// `to` = 8 times [`ppin_abi::area::near_index`] of `from`, one of the first four registers.
    pub(super) fn near_index(&mut self, to: Reg, from: Reg) {
        let (to, from) = (self.reg(to), self.reg(from));
        let sum = |index, scale| Memory {
            index: Some(index),
            scale,
            ..Memory::at(to)
        };
        let hot = &mut self.emitter.hot;
        hot.second_byte(to, from);
        hot.memory(false, opcode::LEA, to.number(), sum(to, 3));
        hot.memory(false, opcode::LEA, to.number(), sum(from, 0));
        hot.eightfold(to);
        hot.low_half(to, to);
    }

    /// `movzx to32, sp; rorx to, to, 3`
    pub(super) fn stack_word(&mut self, to: Reg) {
        let to = self.reg(to);
        self.emitter.hot.low_half(to, Gpr::RSP);
        self.emitter.hot.rotate(to, 3);
    }

    /// `movzx reg32, reg16; rorx reg, reg, 3; lea reg32, [reg * 8]`
    pub(super) fn word_at(&mut self, reg: Reg) {
        let register = self.reg(reg);
        self.emitter.hot.low_half(register, register);
        self.emitter.hot.rotate(register, 3);
        self.word_offset(reg);
    }

    /// `lea reg32, [reg * 8]`
    pub(super) fn word_offset(&mut self, reg: Reg) {
        let reg = self.reg(reg);
        self.emitter.hot.eightfold(reg);
    }

    /// `push 0; pop by`: on Intel's processors less than a store that names rsp between a pop and a push, for
    /// which they settle the count that they keep of both aside.
    pub(super) fn clear_below(&mut self, by: Reg) {
        let by = self.reg(by);
        self.emitter.hot.bytes(&[opcode::PUSH_BYTE, 0]);
        self.emitter.hot.pop(by);
    }

    /// `mov to, [rsp]`
    pub(super) fn load_stack(&mut self, to: Reg) {
        let to = self.reg(to).number();
        let memory = Memory::at(Gpr::RSP);
        self.emitter.hot.memory(true, opcode::LOAD, to, memory);
    }

    /// `lea by, [rsp - 8]; mov rsp, gs:[RETURNS_AT]; mov sp, by16`
    pub(super) fn stack_away(&mut self, by: Reg) {
        let by = self.reg(by);
        let code = &mut self.emitter.hot;
        code.memory(true, opcode::LEA, by.number(), beside(Gpr::RSP, -ABOVE));
        code.cell(opcode::LOAD, Gpr::RSP.number(), RETURNS_AT);
        code.set_low_half(Gpr::RSP, by);
    }

    /// The same, with `mov dl, 47; shrx rcx, [rsp], rdx` before it, `mov rsp, gs:[rcx + RETURNS_AT]` in it, and
    /// `mov rcx, [rdx + 8]` behind that. The registers must be these.
    pub(super) fn stack_away_checked(&mut self, registers: [Reg; 2]) {
        let [target, by] = registers.map(|register| self.reg(register));
        debug_assert_eq!([target, by], [Gpr::RCX, Gpr::RDX]);
        let code = &mut self.emitter.hot;
        code.bytes(&[opcode::SET_DL, ADDRESS_BITS as u8]);
        code.bytes(&ASK_FOR_BITS);
        code.memory(true, opcode::LEA, by.number(), beside(Gpr::RSP, -ABOVE));
        code.bytes(&BAR);
        code.memory(true, opcode::LOAD, target.number(), beside(by, ABOVE));
        code.set_low_half(Gpr::RSP, by);
    }

    /// `lea rsp, [from + 16]`
    pub(super) fn stack_back(&mut self, from: Reg) {
        let (rsp, behind) = (
            Gpr::RSP.number(),
            beside(self.reg(from), RETURN_WORD as i32),
        );
        self.emitter.hot.memory(true, opcode::LEA, rsp, behind);
    }

    /// `rdfsbase` (0) or `wrfsbase` (2)
    pub(super) fn fs_base(&mut self, operation: u8, register: Reg) {
        let register = self.reg(register);
        self.emitter.hot.fs_base(operation, register);
    }

    /// `op reg, cell`
    pub(super) fn cell(&mut self, opcode: u8, cell: Cell, reg: Reg, width: Width) {
        let reg = self.reg(reg).number();
        let hot = &mut self.emitter.hot;
        match (cell.base, width) {
            (None, Width::W64) => hot.cell(opcode, reg, cell.disp.cast_unsigned()),
            _ => {
                let memory = self.memory_of(cell);
                self.emitter.hot.memory(wide(width), opcode, reg, memory);
            }
        }
    }

    pub(super) fn memory_of(&self, cell: Cell) -> Memory {
        Memory {
            base: cell.base.map(|base| self.allocation.register(base)),
            ..Memory::cell(cell.disp)
        }
    }

    pub(super) fn set_cell(&mut self, cell: Cell, value: i32, width: Width) {
        self.cell(opcode::SET, cell, PART_OF_OPCODE, width);
        self.emitter.hot.push_i32(value);
    }

    pub(super) fn add(&mut self, cell: Cell, amount: i32) {
        if let Ok(amount) = i8::try_from(amount) {
            self.cell(opcode::ADD8, cell, PART_OF_OPCODE, Width::W64);
            self.emitter.hot.push_i8(amount);
        } else {
            self.cell(opcode::ADD32, cell, PART_OF_OPCODE, Width::W64);
            self.emitter.hot.push_i32(amount);
        }
    }

    /// `op to, slot`
    pub(super) fn slot(&mut self, opcode: u8, to: Reg, slot: u16) {
        let to = self.reg(to).number();
        let slot = RelocKind::Slot(slot);
        self.emitter.rip(true, opcode, to, slot);
    }

    pub(super) fn load_counters(&mut self, to: Reg) {
        let slot = self.emitter.image_slot(SlotInit::ImageCounters);
        self.slot(opcode::LOAD, to, slot);
    }

    /// `add qword gs:[cell], 1`
    pub(super) fn add_bundle(&mut self, bundle: u16) {
        self.bundle_cell(opcode::ADD8, 0, bundle);
        self.emitter.hot.push_i8(1);
    }

    /// `mov by, gs:[cell]; lea by, [by + 1]; mov gs:[cell], by`
    pub(super) fn add_bundle_by(&mut self, bundle: u16, by: Temp) {
        let register = self.allocation.register(by).number();
        self.bundle_cell(opcode::LOAD, register, bundle);
        self.lea(by.into(), by.into(), None, 1);
        self.bundle_cell(opcode::STORE, register, bundle);
    }

    /// `op register, gs:[cell]`; `register` may be a part of the opcode.
    fn bundle_cell(&mut self, opcode: u8, register: u8, bundle: u16) {
        // (What stands aside may have a lower number than what comes before it.)
        let bundles = &mut self.emitter.bundles;
        *bundles = (bundle + 1).max(*bundles);
        let slot = SlotInit::Bundles(*bundles);
        self.emitter.image_slot(slot);
        self.emitter.hot.cell(opcode, register, 0);
        self.emitter.relocate_hot(RelocKind::Cell(bundle));
    }

    pub(super) fn load_next(&mut self, to: Reg, ins: InsId) {
        let slot = self.slot_of_next(ins);
        self.slot(opcode::LOAD, to, slot);
    }

    pub(super) fn load_return(&mut self, to: Reg, ins: InsId) {
        let next = self.source.ins(ins).next();
        let slot = self.emitter.return_slot(next);
        self.slot(opcode::LOAD, to, slot);
    }

    /// `mov to, [rip + slot]`, and the slot behind it is another.
    pub(super) fn load_prediction(&mut self, to: Reg) {
        let slot = self.emitter.prediction_slots();
        self.prediction = slot;
        self.slot(opcode::LOAD, to, slot);
    }

    /// `jmp [rip + slot + 8]`
    pub(super) fn jump_predicted(&mut self) {
        self.jump_slot(self.prediction + 1);
    }

    /// `jmp [rip + slot]`, where the slot leads behind this at first, and the one behind it is the cell's.
    pub(super) fn jump_sealed(&mut self, ins: InsId) {
        let cell = AppPc(self.source.ins(ins).raw.ip_rel_memory_address());
        let slot = self.emitter.sealed_slots(cell);
        self.prediction = slot;
        self.jump_slot(slot);
        let behind = self.emitter.hot.here();
        self.emitter.slots[usize::from(slot)] = SlotInit::Behind(behind);
    }

    /// `lea to, [rip + 0]`
    pub(super) fn load_here(&mut self, to: Reg) {
        let to = self.reg(to).number();
        self.emitter.hot.rip_relative(true, opcode::LEA, to);
    }

    pub(super) fn push_next(&mut self, ins: InsId) {
        let slot = RelocKind::Slot(self.slot_of_next(ins));
        self.emitter.rip(false, opcode::INDIRECT, 6, slot);
    }

    /// `pop gs:[index * 8 + entries]`
    pub(super) fn pop_entry(&mut self, index: Reg, entries: u32) {
        let memory = Memory {
            index: Some(self.reg(index)),
            scale: 3,
            ..Memory::cell(entries as i32)
        };
        self.emitter.hot.memory(false, opcode::POP, 0, memory);
    }

    fn slot_of_next(&mut self, ins: InsId) -> u16 {
        let next = self.source.ins(ins).next();
        self.emitter.app_slot(next)
    }

    /// `jmp cell`
    pub(super) fn jump_cell(&mut self, cell: Cell) {
        let memory = self.memory_of(cell);
        self.emitter.hot.memory(false, opcode::INDIRECT, 4, memory);
    }

    pub(super) fn jump_slot(&mut self, slot: u16) {
        let slot = RelocKind::Slot(slot);
        self.emitter.rip(false, opcode::INDIRECT, 4, slot);
    }
}

/// The register's field says which operation of the opcode it is: the first.
const PART_OF_OPCODE: Reg = Reg::App(Gpr::RAX);

const fn wide(width: Width) -> bool {
    matches!(width, Width::W64)
}

/// `[base + disp]`
fn beside(base: Gpr, disp: i32) -> Memory {
    Memory {
        disp,
        ..Memory::at(base)
    }
}
