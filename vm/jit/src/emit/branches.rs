//! Control flow inside inserted code.

use super::writer::{Branch, Writer};
use crate::form::{Label, Living};
use ppin_abi::spills::SpillSet;
use ppin_relocator::RelocKind;

impl Writer<'_> {
    pub(super) fn if_zero(&mut self, to: Label) {
        self.short(0xe3, to);
    }

    pub(super) fn goto(&mut self, to: Label) {
        self.short(0xeb, to);
    }

    pub(super) fn goto_far(&mut self, to: Label) {
        self.near(&[0xe9], to);
    }

    pub(super) fn call_over(&mut self, to: Label) {
        self.near(&[0xe8], to);
    }

    /// A branch of `opcode` and 32 bits.
    pub(super) fn near(&mut self, opcode: &[u8], to: Label) {
        self.emitter.hot.bytes(opcode);
        self.emitter.hot.push_i32(0);
        self.branch(to, true);
    }

    fn short(&mut self, opcode: u8, to: Label) {
        self.emitter.hot.bytes(&[opcode, 0]);
        self.branch(to, false);
    }

    fn branch(&mut self, to: Label, near: bool) {
        let end = self.emitter.hot.here();
        self.branches.push(Branch { to, end, near });
    }

    /// Aims the branches to `label` here. What is spilled is what they bring.
    pub(super) fn label(&mut self, label: Label, live: Living) {
        let here = self.emitter.hot.here();
        for branch in self.branches.extract_if(.., |branch| branch.to == label) {
            if branch.near {
                let hot = RelocKind::Hot(here);
                self.emitter.relocate_hot_at(branch.end - 4, 4, hot);
            } else {
                self.emitter.hot.land(branch.end);
            }
        }
        let mut spilled = SpillSet::NONE;
        for temp in live.iter() {
            let home = self.allocation.home(temp);
            if let Some(slot) = home.kept {
                spilled = spilled.with(slot, home.register.number());
            }
        }
        if self.emitter.spilled != spilled {
            self.emitter.spilled = spilled;
            self.emitter.arrive_marked();
            self.emitter.row(0);
        }
    }
}
