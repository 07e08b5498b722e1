//! Where temporaries begin and end: the app's values go to spill slots and come back.

use super::writer::Writer;
use ppin_abi::area::Entry;
use ppin_abi::spills::{SpillSet, SpillSlot};
use ppin_form::{Gpr, Temp, Temps};

impl Writer<'_> {
    pub(super) fn take(&mut self, temps: Temps) {
        let before = self.emitter.spilled;
        for temp in temps.iter() {
            let home = self.allocation.home(temp);
            let register = home.register.number();
            let kept = self.emitter.spilled.slot_of(register);
            if let Some(slot) = home.kept.filter(|slot| kept != Some(*slot)) {
                self.emitter.save(home.register, slot);
                self.emitter.spilled = self.emitter.spilled.with(slot, register);
            }
        }
        self.row_unless(before);
    }

    /// The app's value of `register` comes back from `slot`.
    pub(super) fn fill(&mut self, register: Gpr, slot: SpillSlot) {
        self.emitter.fill(register, slot);
        self.emitter.spilled = self.emitter.spilled.without(slot);
        self.emitter.row(0);
    }

    /// The app's value of `register` is in `slot`, as where the branch comes from.
    pub(super) fn still_kept(&mut self, register: Gpr, slot: SpillSlot) {
        self.emitter.spilled = self.emitter.spilled.with(slot, register.number());
        self.emitter.row(0);
    }

    /// The app's value of `register` stays in `slot`, too.
    pub(super) fn keep_again(&mut self, register: Gpr, slot: SpillSlot) {
        self.emitter.save(register, slot);
        self.emitter.spilled = self.emitter.spilled.with(slot, register.number());
        self.emitter.row(0);
    }

    /// The app has overwritten `register`.
    pub(super) fn lost(&mut self, register: Gpr) {
        if let Some(slot) = self.emitter.spilled.slot_of(register.number()) {
            self.emitter.spilled = self.emitter.spilled.without(slot);
            self.emitter.row(0);
        }
    }

    /// As [`Writer::take`], but the app's values are kept already.
    pub(super) fn comes_in(&mut self, temps: Temps) {
        for temp in temps.iter() {
            let home = self.allocation.home(temp);
            if let Some(slot) = home.kept {
                let register = home.register.number();
                self.emitter.spilled = self.emitter.spilled.with(slot, register);
            }
        }
        self.emitter.row(0);
    }

    pub(super) fn give(&mut self, temps: Temps) {
        let before = self.emitter.spilled;
        for temp in temps.iter().rev() {
            self.refill(temp);
            self.forget(temp);
        }
        self.row_unless(before);
    }

    /// The same; `zero` is 0, and if it is the first of `temps`, it is given last.
    pub(super) fn give_by_zero(&mut self, temps: Temps, zero: Temp) {
        let zero = self.allocation.register(zero);
        for temp in temps.iter().rev() {
            let home = self.allocation.home(temp);
            if let Some(slot) = home.kept {
                self.emitter.fill_by(zero, home.register, slot);
            }
            self.forget(temp);
        }
        self.emitter.row(0);
    }

    pub(super) fn gone(&mut self, temps: Temps) {
        for temp in temps.iter() {
            self.forget(temp);
        }
        self.emitter.row(0);
    }

    /// `jmp gs:[Entry::Bridge]`, which comes back elsewhere.
    pub(super) fn jump_again(&mut self, temps: Temps) {
        self.emitter.jump_to(Entry::Bridge);
        for temp in temps.iter() {
            self.forget(temp);
        }
    }

    pub(super) fn refill(&mut self, temp: Temp) {
        let home = self.allocation.home(temp);
        if let Some(slot) = home.kept {
            self.emitter.fill(home.register, slot);
        }
    }

    fn forget(&mut self, temp: Temp) {
        if let Some(slot) = self.allocation.home(temp).kept {
            self.emitter.spilled = self.emitter.spilled.without(slot);
        }
    }

    /// A row, if what is spilled is not what was `before`.
    fn row_unless(&mut self, before: SpillSet) {
        if self.emitter.spilled != before {
            self.emitter.row(0);
        }
    }
}
