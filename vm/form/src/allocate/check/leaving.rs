//! Leaving for the runtime, and for other code.

use super::state::Value;
use super::{Checked, Checker, ensure};
use crate::allocate::HOMES;
use crate::{Gpr, Label, Reg, Temp};
use ppin_abi::area::Entry;

impl Checker<'_> {
    /// The contract of all entries: rcx speaks to the runtime, at two another as well, and the app's lies at
    /// home; but at a system call nobody needs it.
    pub(super) fn jump(&mut self, entry: Entry) -> Checked {
        let speaks: &[Gpr] = match entry {
            Entry::ArrivedElsewhere | Entry::Mispredicted => &[Gpr::RCX, Gpr::RAX],
            Entry::ReturnedElsewhere => &[Gpr::RCX, Gpr::RDX],
            _ => &[Gpr::RCX],
        };
        let says = |register: &Gpr| matches!(self.state.register(*register), Value::Temp(_));
        ensure(speaks.iter().all(says), "a register says nothing")?;
        self.returning |= entry == Entry::Cpuid;
        self.others_find_theirs(speaks, entry != Entry::Syscall)?;
        self.reached = matches!(entry, Entry::Bridge | Entry::Syscall | Entry::Cpuid);
        Ok(())
    }

    /// Other code is entered: all registers but those that speak to it have the app's values, and
    /// these are at home if they are `kept`.
    pub(super) fn others_find_theirs(&self, speaks: &[Gpr], kept: bool) -> Checked {
        for register in (0..16).map(Gpr::new) {
            let there = self.state.register(register) == Value::App(register);
            let speaks = speaks.contains(&register);
            ensure(there || speaks, "other code finds another value")?;
            let home = HOMES[usize::from(register.number())];
            let at_home =
                home.is_some_and(|slot| self.state.slots[slot.number()] == Value::App(register));
            ensure(
                at_home || !speaks || !kept,
                "what speaks to the runtime is not kept at home",
            )?;
        }
        let flags = self.state.lost_flags == 0 || self.returning;
        ensure(flags, "other code finds flags that are lost")
    }

    /// A jump as [`Self::jump`] checks it, made only if `temp` is not 1; behind it `temp` is 0.
    pub(super) fn jump_unless_one(&mut self, temp: Temp, entry: Entry) -> Checked {
        self.loops_by(temp)?;
        let returning = self.returning;
        self.jump(entry)?;
        self.returning = returning;
        self.reached = true;
        self.state.zero = Some(temp);
        Ok(())
    }

    /// A branch inside inserted code, taken only if `temp` is not 1; behind it `temp` is 0.
    pub(super) fn unless_one(&mut self, temp: Temp, to: Label) -> Checked {
        self.loops_by(temp)?;
        self.arriving.push((to, self.state.clone()));
        self.state.zero = Some(temp);
        Ok(())
    }

    fn loops_by(&self, temp: Temp) -> Checked {
        ensure(
            self.allocation.register(temp) == Gpr::RCX,
            "a `loop` by another register than rcx",
        )
    }

    /// A jump by a slot whose address is in rcx, or in rax; then rcx, too, is to be put back where it arrives.
    pub(super) fn jump_cases(&self, slot: Temp) -> Checked {
        match self.allocation.register(slot) {
            Gpr::RCX => self.others_find_theirs(&[Gpr::RCX], true),
            Gpr::RAX => self.others_find_theirs(&[Gpr::RCX, Gpr::RAX], true),
            _ => Err("a jump by a slot with another register"),
        }
    }

    /// A jump by one of the slots at rcx, which is put back where it arrives, as rax is if that has the index.
    pub(super) fn jump_by_index(&self, slots: Temp, index: Reg) -> Checked {
        let by = |temp| self.allocation.register(temp);
        ensure(by(slots) == Gpr::RCX, "slots by another register than rcx")?;
        match index {
            Reg::App(_) => self.others_find_theirs(&[Gpr::RCX], true),
            Reg::Temp(index) if by(index) == Gpr::RAX => {
                self.others_find_theirs(&[Gpr::RCX, Gpr::RAX], true)
            }
            Reg::Temp(_) => Err("an index in another register than rax"),
        }
    }

    /// A return: what [`crate::Op::Returned`] relies on.
    pub(super) fn leave_by_return(&mut self) -> Checked {
        let rcx = self.state.register(Gpr::RCX);
        ensure(matches!(rcx, Value::Temp(_)), "rcx says nothing")?;
        self.others_find_theirs(&[Gpr::RCX, Gpr::RDX], true)?;
        self.reached = false;
        Ok(())
    }
}
