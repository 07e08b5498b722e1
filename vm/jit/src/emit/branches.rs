//! Control flow inside inserted code.

use super::writer::{Branch, Reach, Writer};
use ppin_abi::area::Entry;
use ppin_abi::spills::SpillSet;
use ppin_decode::{Kind, Predicate};
use ppin_form::{InsId, Label, Living, Temp, Temps};
use ppin_relocator::{ARRIVAL, RelocKind};

impl Writer<'_> {
    pub(super) fn if_zero(&mut self, to: Label) {
        self.short(0xe3, to);
    }

    /// `loop to`
    pub(super) fn unless_one(&mut self, to: Label) {
        self.short(0xe2, to);
    }

    /// `jmp gs:[elsewhere]`, and behind it threads arrive.
    pub(super) fn arrived(&mut self, temps: Temps, elsewhere: Entry) {
        self.comes_in(temps);
        self.reached_back(elsewhere);
        debug_assert_eq!(self.emitter.hot.here(), ARRIVAL.into());
    }

    /// `mov by, imm64`, whose constant is `jmp gs:[entry]`: both have eight bytes. Nothing, if one that
    /// is near enough leads there.
    pub(super) fn hidden_jump(&mut self, by: Temp, entry: Entry) {
        /// Bytes of the comparison, and of the branch behind it.
        const COMPARISON: u32 = 24;
        if self.back_to(entry, COMPARISON).is_none() {
            let by = self.allocation.register(by).number();
            self.emitter.hot.bytes(&[0x48 | by >> 3, 0xb8 | by & 7]);
            self.reached_back(entry);
        }
    }

    /// `jmp gs:[entry]`, to which short branches may go back.
    fn reached_back(&mut self, entry: Entry) {
        self.hidden = Some((entry, self.emitter.hot.here()));
        self.emitter.jump_to(entry);
    }

    /// The distance of a short branch, which ends `further` bytes on, to a jump to `entry` that stands
    /// before it.
    fn back_to(&self, entry: Entry, further: u32) -> Option<i8> {
        let (_, at) = self.hidden.filter(|(leads, _)| *leads == entry)?;
        let end = self.emitter.hot.here() + further;
        i8::try_from(at.wrapping_sub(end).cast_signed()).ok()
    }

    /// `loop` to the jump that is hidden.
    pub(super) fn jump_unless_one(&mut self, entry: Entry) {
        let distance = self.back_to(entry, 2);
        debug_assert!(distance.is_some(), "it is near");
        let distance = distance.unwrap_or_default();
        self.emitter.hot.bytes(&[0xe2, distance.cast_unsigned()]);
    }

    /// `jmp gs:[entry]`, or `jmp` to one that is near. (The VM knows many by their place; behind returns they are
    /// alike.)
    pub(super) fn jump(&mut self, entry: Entry) {
        match self.back_to(entry, 2) {
            Some(distance) => self.emitter.hot.bytes(&[0xeb, distance.cast_unsigned()]),
            None if entry == Entry::ReturnedElsewhere => self.reached_back(entry),
            None => self.emitter.jump_to(entry),
        }
    }

    /// `jcc to`
    pub(super) fn if_flags(&mut self, condition: u8, to: Label) {
        self.emitter.hot.bytes(&[0x0f, 0x80 | condition]);
        self.emitter.hot.push_i32(0);
        self.branch(to, Reach::Near);
    }

    /// `jcc to`, or `jrcxz to`
    pub(super) fn unless(&mut self, ins: InsId, to: Label) {
        match self.source.ins(ins).predicate() {
            Some(Predicate::Flags(condition)) => self.if_flags(condition ^ 1, to),
            Some(Predicate::Count { narrow }) => {
                self.emitter.hot.bytes(&[0x67][..usize::from(narrow)]);
                self.short(0xe3, to);
            }
            // Tools are refused what looks at a mask.
            Some(Predicate::Mask) | None => debug_assert!(false, "no predicate to look at"),
        }
    }

    /// The branch `ins`, to `to`.
    pub(super) fn if_taken(&mut self, ins: InsId, to: Label) {
        let ins = self.source.ins(ins);
        match self.source.bytes(ins).split_last() {
            Some((_distance, branch)) if ins.kind == Kind::ShortJump => {
                let hot = &mut self.emitter.hot;
                hot.bytes(branch);
                hot.bytes(&[2, 0xeb, 5, 0xe9]);
            }
            _ => {
                let opcode = [0x0f, 0x80 | ins.leaves_on()];
                self.emitter.hot.bytes(&opcode);
            }
        }
        self.emitter.hot.push_i32(0);
        self.branch(to, Reach::Near);
    }

    pub(super) fn goto(&mut self, to: Label) {
        self.short(0xeb, to);
    }

    pub(super) fn goto_far(&mut self, to: Label) {
        self.near(&[0xe9], to);
    }

    pub(super) fn goto_back(&mut self, to: Label) {
        let placed = self.placed.iter().find(|(label, _)| *label == to);
        debug_assert!(placed.is_some(), "the label is placed");
        let at = placed.map_or(0, |(_, at)| *at);
        let hot = &mut self.emitter.hot;
        hot.bytes(&[0xe9]);
        let behind = hot.here() + 4;
        hot.push_i32((at.wrapping_sub(behind)).cast_signed());
    }

    pub(super) fn call_over(&mut self, to: Label) {
        self.near(&[0xe8], to);
    }

    /// A branch of `opcode` and 32 bits.
    pub(super) fn near(&mut self, opcode: &[u8], to: Label) {
        self.emitter.hot.bytes(opcode);
        self.emitter.hot.push_i32(0);
        self.branch(to, Reach::Relocated);
    }

    fn short(&mut self, opcode: u8, to: Label) {
        self.emitter.hot.bytes(&[opcode, 0]);
        self.branch(to, Reach::Short);
    }

    fn branch(&mut self, to: Label, reach: Reach) {
        let end = self.emitter.hot.here();
        self.branches.push(Branch { to, end, reach });
    }

    /// Aims the branches to `label` here. What is spilled is what they bring.
    pub(super) fn label(&mut self, label: Label, live: Living) {
        let here = self.emitter.hot.here();
        self.placed.push((label, here));
        let mut arrives = false;
        for branch in self.branches.extract_if(.., |branch| branch.to == label) {
            arrives = true;
            match branch.reach {
                Reach::Short => self.emitter.hot.land(branch.end),
                Reach::Near => self.emitter.hot.land_near(branch.end),
                Reach::Relocated => {
                    let hot = RelocKind::Hot(here);
                    self.emitter.relocate_hot_at(branch.end - 4, 4, hot);
                }
            }
        }
        if !arrives {
            // Branches back bring what is there.
            return;
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
