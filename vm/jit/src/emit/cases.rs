//! Slots of a jump by a table that does not change.

use super::encode::{Memory, opcode};
use super::writer::Writer;
use ppin_abi::predicted::{Held, Table};
use ppin_decode::tables::Place;
use ppin_form::{By, CaseJump, Reg, Temp};
use ppin_relocator::SlotInit;

impl Writer<'_> {
    /// `lea to, [rip + slot]`, the first for a case; before it the address of the table lies.
    pub(super) fn lea_cases(&mut self, to: Reg) {
        let Some(jump) = self.form.cases else { return };
        let Place::Known(table) = jump.table else {
            return;
        };
        let table = self.emitter.app_slot(table);
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
        let count = self.form.cases.map_or(0, |jump| jump.count);
        self.lead_behind(self.prediction + 1, count);
    }

    /// `mov to, [rip + slot]`: while nothing is known of the table, what makes 0 with it is no address of the app's.
    pub(super) fn load_table(&mut self, to: Reg) {
        let table = self.emitter.slot(SlotInit::Entry);
        for init in [SlotInit::Entry, SlotInit::Case(0)] {
            self.emitter.slot(init);
        }
        self.prediction = table;
        self.slot(opcode::LOAD, to, table);
    }

    /// `jmp [slots + index * 8]`
    pub(super) fn jump_by_index(&mut self, slots: Temp, index: Reg) {
        let at = Memory {
            index: Some(self.reg(index)),
            scale: 3,
            ..Memory::at(self.allocation.register(slots))
        };
        self.emitter.hot.memory(false, opcode::INDIRECT, 4, at);
        match self.form.cases {
            Some(CaseJump {
                table: Place::Known(_),
                count,
                ..
            }) => self.lead_behind(self.prediction + 1, count),
            _ => self.lead_behind(self.prediction + 2, 1),
        }
    }

    /// The `count` slots from `first` on lead here.
    fn lead_behind(&mut self, first: u16, count: u16) {
        let behind = self.emitter.hot.here();
        let range = usize::from(first)..usize::from(first) + usize::from(count);
        self.emitter.slots[range].fill(SlotInit::Case(behind));
    }

    /// `mov to, what; mov to, [rip + slot]`
    pub(super) fn name_cases(&mut self, to: Reg) {
        let Some(jump) = self.form.cases else { return };
        let held = match jump.table {
            Place::Known(_) => None,
            Place::Held(register) => Some(Held {
                register: register.number(),
                both: jump.by == By::Cell,
            }),
        };
        let (count, bytes) = (jump.count, jump.bytes);
        let what = Table { count, bytes, held }.encode();
        self.emitter.hot.set_register(false, self.reg(to), what);
        self.slot(opcode::LOAD, to, self.prediction);
    }
}
