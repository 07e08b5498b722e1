//! Slots of a jump by a table that does not change.

use super::encode::{Memory, opcode};
use super::writer::Writer;
use ppin_abi::predicted;
use ppin_form::{Reg, Temp};
use ppin_relocator::SlotInit;

impl Writer<'_> {
    /// `lea to, [rip + slot]`, the first for a case; before it the address of the table lies.
    pub(super) fn lea_cases(&mut self, to: Reg) {
        let Some(jump) = self.form.cases else { return };
        let table = self.emitter.app_slot(jump.table);
        for _ in 0..jump.count {
            self.emitter.slot(SlotInit::Case(0));
        }
        self.prediction = table;
        self.slot(opcode::LEA, to, table + 1);
    }

    /// `jmp [slot]`, where slots lead behind this at first.
    pub(super) fn jump_cases(&mut self, slot: Temp) {
        let at = Memory::at(self.allocation.register(slot));
        self.emitter.hot.memory(false, opcode::INDIRECT, 4, at);
        let behind = self.emitter.hot.here();
        let count = self.form.cases.map_or(0, |jump| jump.count);
        let first = usize::from(self.prediction) + 1;
        self.emitter.slots[first..first + usize::from(count)].fill(SlotInit::Case(behind));
    }

    /// `mov to, count and size; mov to, [rip + slot]`
    pub(super) fn name_cases(&mut self, to: Reg) {
        let Some(jump) = self.form.cases else { return };
        let what = predicted::what_cases(jump.count, jump.bytes);
        self.emitter.hot.set_register(false, self.reg(to), what);
        self.slot(opcode::LOAD, to, self.prediction);
    }
}
