//! What registers and spill slots hold while an allocation is checked.

use super::super::Allocation;
use crate::{Gpr, Living, Temp};
use alloc::vec::Vec;
use ppin_abi::spills::SPILL_SLOTS;

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
}

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
        }
    }

    pub(super) fn register(&self, register: Gpr) -> Value {
        self.registers[usize::from(register.number())]
    }

    pub(super) fn set(&mut self, register: Gpr, value: Value) {
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
        !self.alive.is_empty() && self.slots.contains(&Value::App(register))
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
            there || alive.any(|home| home.register == register && home.kept.is_some())
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
        if self.alive.is_empty() && self.flags_in.is_none() {
            Ok(())
        } else {
            Err("a temporary lives on")
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
        let whole = |register| self.register(register) == Value::App(register);
        if others.all(|register| taken(register) || whole(register)) {
            Ok(self)
        } else {
            Err("a branch brings a register that is not the app's")
        }
    }
}
