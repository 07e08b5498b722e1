//! Calls of analysis routines, and the values that they are called with.

use super::encode::{Memory, opcode};
use super::writer::Writer;
use ppin_abi::addr::ImageOff;
use ppin_abi::area::Calls;
use ppin_form::{Gpr, Label, Reg};
use ppin_relocator::{RelocKind, SlotInit, pc_flag};

impl Writer<'_> {
    /// ```text
    /// mov  gs:[Calls::APP_SP], rsp
    /// mov  rsp, gs:[Calls::STACK]
    /// call gs:[Calls::routine]
    /// mov  rsp, gs:[Calls::APP_SP]
    /// ```
    pub(super) fn call_routine(&mut self, routine: u16) {
        let rsp = Gpr::RSP.number();
        let emitter = &mut *self.emitter;
        emitter.hot.cell(opcode::STORE, rsp, Calls::APP_SP);
        emitter.hot.cell(opcode::LOAD, rsp, Calls::STACK);
        emitter.row_flags |= pc_flag::OWN_STACK;
        emitter.row(0);
        let routine = Memory::cell(Calls::routine(routine).cast_signed());
        emitter.hot.memory(false, opcode::INDIRECT, 2, routine);
        emitter.hot.cell(opcode::LOAD, rsp, Calls::APP_SP);
        emitter.row_flags &= !pc_flag::OWN_STACK;
        emitter.row(0);
    }

    /// `cmp qword gs:[Calls::RESULT], 0; jne to`
    pub(super) fn if_result(&mut self, to: Label) {
        self.emitter.hot.compare_word(Calls::RESULT);
        self.near(&[0x0f, 0x85], to);
    }

    /// `lea to, [base + index * 2^scale + disp]`, or what is shorter.
    pub(super) fn address(
        &mut self,
        to: Reg,
        (base, index): (Option<Reg>, Option<Reg>),
        scale: u8,
        narrow: bool,
        disp: i32,
    ) {
        let to = self.reg(to);
        let [base, index] = [base, index].map(|register| register.map(|r| self.reg(r)));
        let hot = &mut self.emitter.hot;
        match (base, index) {
            (Some(base), None) if disp == 0 && !narrow => {
                if base != to {
                    hot.registers(opcode::STORE, base, to);
                }
            }
            _ => {
                let memory = Memory {
                    gs: false,
                    base,
                    index,
                    scale,
                    disp,
                };
                hot.memory(!narrow, opcode::LEA, to.number(), memory);
            }
        }
    }

    /// `mov to, high : low`
    pub(super) fn set_wide(&mut self, to: Reg, low: u32, high: u32) {
        let to = self.reg(to);
        self.emitter.hot.set_wide(to, low, high);
    }

    /// The app address of a place in the image.
    pub(super) fn load_app(&mut self, to: Reg, off: ImageOff) {
        let to = self.reg(to).number();
        if self.emitter.is_low() {
            let slot = self.emitter.slot(SlotInit::App(off));
            self.emitter
                .rip(true, opcode::LOAD, to, RelocKind::Slot(slot));
        } else {
            self.emitter.rip(true, opcode::LEA, to, RelocKind::App(off));
        }
    }
}
