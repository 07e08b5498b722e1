//! What registers and spill slots hold while an allocation is checked.

use super::super::{Allocation, Home};
use crate::{Gpr, Living, Temp};
use alloc::vec::Vec;
use ppin_abi::spills::{SPILL_SLOTS, SpillSlot};

/// What a register or a slot holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    /// The value that the app has in this register.
    App(Gpr),
    /// The value of a temporary.
    Temp(Temp),
    /// Anything.
    Unknown,
}

/// All of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct State {
    registers: [Value; 16],
    pub slots: [Value; SPILL_SLOTS],
    /// Arithmetic flags that are not the app's.
    pub lost_flags: u32,
    /// Where the app's are.
    pub flags_in: Option<Temp>,
    /// Those of them that had been lost before.
    pub lost_there: u32,
    pub alive: Vec<Temp>,
    /// Registers, and the cell whose value each holds for later insertions.
    pub holds: Vec<(Gpr, i32)>,
    /// A temporary that is known to be 0.
    pub zero: Option<Temp>,
    /// Registers that stay with inserted code, and where the app's values are.
    pub kept: Vec<(Gpr, SpillSlot)>,
}

const LIVES_ON: &str = "a temporary lives on";

impl State {
    /// All registers are the app's, of the flags all but `lost_flags`.
    pub(super) fn of_the_app(lost_flags: u32) -> Self {
        Self {
            registers: core::array::from_fn(|number| Value::App(Gpr::new(number as u8))),
            slots: [Value::Unknown; SPILL_SLOTS],
            lost_flags,
            flags_in: None,
            lost_there: 0,
            alive: Vec::new(),
            holds: Vec::new(),
            zero: None,
            kept: Vec::new(),
        }
    }

    /// Whether the app's value of `register` stays in `slot`.
    pub(super) fn has_kept(&self, register: Gpr, slot: SpillSlot) -> bool {
        let there = self.slots[slot.number()] == Value::App(register);
        there && self.kept.contains(&(register, slot))
    }

    /// Whether `slot` is where the value of another register than `register` stays.
    pub(super) fn kept_in_other(&self, slot: Option<SpillSlot>, register: Gpr) -> bool {
        let mut kept = self.kept.iter();
        kept.any(|(other, at)| Some(*at) == slot && *other != register)
    }

    /// The app's value comes back.
    pub(super) fn fill(&mut self, register: Gpr, slot: SpillSlot) -> Result<(), &'static str> {
        if !self.has_kept(register, slot) {
            return Err("a value comes back that was not kept");
        }
        self.kept.retain(|kept| *kept != (register, slot));
        self.set(register, Value::App(register));
        Ok(())
    }

    /// The app's value of `register`, which is in its place, stays in `slot`, too.
    pub(super) fn keep_again(
        &mut self,
        register: Gpr,
        slot: SpillSlot,
    ) -> Result<(), &'static str> {
        if self.register(register) != Value::App(register) {
            return Err("a value is kept again that is not there");
        }
        self.slots[slot.number()] = Value::App(register);
        self.kept.push((register, slot));
        Ok(())
    }

    /// As [`State::whole`], but these registers stay where they are kept, and no others.
    pub(super) fn whole_but(&self, kept: &[(Gpr, SpillSlot)]) -> Result<(), &'static str> {
        self.nothing_lives()?;
        let fine = |register: Gpr| match kept.iter().find(|(kept, _)| *kept == register) {
            Some((_, slot)) => self.has_kept(register, *slot),
            None => self.register(register) == Value::App(register),
        };
        if (0..16).map(Gpr::new).all(fine) {
            Ok(())
        } else {
            Err("a branch back does not bring what is kept at its label")
        }
    }

    /// `register`, whose app value is kept, gets the value of the cell at `disp`.
    pub(super) fn hold_again(&mut self, register: Gpr, disp: i32) -> Result<(), &'static str> {
        if !self.kept.iter().any(|(kept, _)| *kept == register) {
            return Err("a register of the app gets what is held");
        }
        self.set(register, Value::Unknown);
        self.holds.push((register, disp));
        Ok(())
    }

    /// `register` holds nothing any more.
    pub(super) fn forget_held(&mut self, register: Gpr) {
        self.holds.retain(|(holder, _)| *holder != register);
    }

    /// Something is written to the cell at `disp`.
    pub(super) fn overwritten(&mut self, disp: i32) {
        self.holds.retain(|(_, cell)| (*cell - disp).abs() >= 8);
    }

    /// The app has overwritten `register`.
    pub(super) fn lose(&mut self, register: Gpr) -> Result<(), &'static str> {
        if self.register(register) != Value::App(register) {
            return Err("a kept value is lost that the app has not overwritten");
        }
        self.kept.retain(|(kept, _)| *kept != register);
        Ok(())
    }

    /// No slot has the app's value of `register` any more.
    pub(super) fn forget_kept(&mut self, register: Gpr) {
        for slot in &mut self.slots {
            if *slot == Value::App(register) {
                *slot = Value::Unknown;
            }
        }
    }

    /// Whether the app's value of each register is in its place, or stays where it is kept.
    pub(super) fn kept_or_in_place(&self) -> Result<(), &'static str> {
        self.kept_but(None)
    }

    /// The same, but one register may be that of a temporary at this home.
    fn kept_but(&self, across: Option<Home>) -> Result<(), &'static str> {
        let across = across.and_then(|home| Some((home.register, home.kept?)));
        let fine = |register: Gpr| {
            let kept = self.kept.iter().chain(across.iter());
            match kept.into_iter().find(|(kept, _)| *kept == register) {
                Some((_, slot)) => self.slots[slot.number()] == Value::App(register),
                None => self.register(register) == Value::App(register),
            }
        };
        if (0..16).map(Gpr::new).all(fine) {
            Ok(())
        } else {
            Err("a register is neither the app's nor kept")
        }
    }

    /// An instruction of the app may begin: no temporary is alive, but one that may live `across` instructions.
    pub(super) fn between(&self, across: Option<(Temp, Home)>) -> Result<(), &'static str> {
        let across = across.filter(|(temp, _)| self.is_alive(*temp));
        self.kept_but(across.map(|(_, home)| home))?;
        let mut others = self
            .alive
            .iter()
            .filter(|temp| across.is_none_or(|(own, _)| own != **temp));
        if others.next().is_none() && self.flags_in.is_none() {
            Ok(())
        } else {
            Err(LIVES_ON)
        }
    }

    pub(super) fn register(&self, register: Gpr) -> Value {
        self.registers[usize::from(register.number())]
    }

    pub(super) fn set(&mut self, register: Gpr, value: Value) {
        self.forget_held(register);
        self.registers[usize::from(register.number())] = value;
    }

    pub(super) fn is_alive(&self, temp: Temp) -> bool {
        self.alive.contains(&temp)
    }

    /// Whether a living temporary has `register`.
    pub(super) fn is_taken(&self, register: Gpr, allocation: &Allocation) -> bool {
        let mut registers = self.alive.iter().map(|temp| allocation.register(*temp));
        registers.any(|taken| taken == register)
    }

    /// Whether the app's value of `register` is in a slot.
    pub(super) fn keeps(&self, register: Gpr) -> bool {
        let anybody = !self.alive.is_empty() || !self.kept.is_empty();
        anybody && self.slots.contains(&Value::App(register))
    }

    pub(super) fn end(&mut self, temp: Temp) -> Result<(), &'static str> {
        let alive = self.alive.iter().position(|alive| *alive == temp);
        let at = alive.ok_or("the temporary is not alive")?;
        self.alive.swap_remove(at);
        Ok(())
    }

    /// Whether each value of the app is in its register or kept for a living temporary.
    pub(super) fn kept_all(&self, allocation: &Allocation) -> bool {
        let mut all = (0..16).map(Gpr::new);
        all.all(|register| {
            let there = self.register(register) == Value::App(register);
            let mut alive = self.alive.iter().map(|temp| allocation.home(*temp));
            let kept = self.kept.iter().any(|(kept, _)| *kept == register);
            there || kept || alive.any(|home| home.register == register && home.kept.is_some())
        })
    }

    pub(super) fn registers_in_place(&self) -> Result<(), &'static str> {
        let mut all = (0..16).map(Gpr::new);
        if all.all(|register| self.register(register) == Value::App(register)) {
            Ok(())
        } else {
            Err("a register is not the app's")
        }
    }

    /// An instruction of the app may begin: nothing is taken.
    pub(super) fn whole(&self) -> Result<(), &'static str> {
        self.registers_in_place()?;
        if !self.kept.is_empty() {
            return Err("a register stays with inserted code");
        }
        self.nothing_lives()
    }

    fn nothing_lives(&self) -> Result<(), &'static str> {
        if self.alive.is_empty() && self.flags_in.is_none() {
            Ok(())
        } else {
            Err(LIVES_ON)
        }
    }

    /// Control may go anywhere.
    pub(super) fn ready_to_leave(&self) -> Result<(), &'static str> {
        self.whole()?;
        if self.lost_flags == 0 {
            Ok(())
        } else {
            Err("flags are lost behind an exit")
        }
    }

    /// What is so on both ways to one place.
    pub(super) fn merge(mut self, other: Self) -> Self {
        for (mine, other) in self.registers.iter_mut().zip(other.registers) {
            if *mine != other {
                *mine = Value::Unknown;
            }
        }
        for (mine, other) in self.slots.iter_mut().zip(other.slots) {
            if *mine != other {
                *mine = Value::Unknown;
            }
        }
        self.lost_flags |= other.lost_flags;
        self.lost_there |= other.lost_there;
        self.alive.retain(|temp| other.alive.contains(temp));
        self.kept.retain(|kept| other.kept.contains(kept));
        self.holds.retain(|held| other.holds.contains(held));
        self.zero = self.zero.filter(|_| self.zero == other.zero);
        self
    }

    /// The same where just `live` are alive: their registers' values are kept, all others are
    /// the app's.
    pub(super) fn with_alive(
        mut self,
        live: Living,
        allocation: &Allocation,
    ) -> Result<Self, &'static str> {
        for temp in live.iter() {
            let home = allocation.home(temp);
            let kept = home.kept.map(|slot| self.slots[slot.number()]);
            if !self.is_alive(temp) || kept != Some(Value::App(home.register)) {
                return Err("a branch does not bring what lives at its label");
            }
        }
        self.alive.retain(|temp| live.contains(*temp));
        let mut others = (0..16).map(Gpr::new);
        let taken = |register| self.is_taken(register, allocation);
        let kept = |register| {
            let mut kept = self.kept.iter();
            kept.any(|(kept, slot)| *kept == register && self.has_kept(register, *slot))
        };
        let whole = |register| kept(register) || self.register(register) == Value::App(register);
        if others.all(|register| taken(register) || whole(register)) {
            Ok(self)
        } else {
            Err("a branch brings a register that is not the app's")
        }
    }
}
