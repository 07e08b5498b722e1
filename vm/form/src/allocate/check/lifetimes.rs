//! Where temporaries begin and end, and where the app's values are kept meanwhile.

use super::super::Home;
use super::state::{State, Value};
use super::{Checked, Checker, ensure};
use crate::{Gpr, Temp, Temps};
use ppin_abi::spills::{Spill, SpillSlot};

impl Checker<'_> {
    pub(super) fn take(&mut self, temps: Temps) -> Checked {
        for temp in temps.iter() {
            let need = self.form.needs.at(temp.0);
            let home = self.allocation.home(temp);
            let app = Value::App(home.register);
            let in_place = self.state.register(home.register) == app;
            // One that nobody looks at any more may have been taken before.
            let gone = self.state.register(home.register) == Value::Unknown && home.kept.is_none();
            let kept = home
                .kept
                .is_some_and(|slot| self.state.has_kept(home.register, slot));
            ensure(
                need.one_of.contains(home.register) || need.or_kept && kept,
                "a register that does not do",
            )?;
            ensure(
                in_place || gone || kept,
                "a register is taken that is not the app's",
            )?;
            let elsewhere = self.state.kept_in_other(home.kept, home.register);
            ensure(!elsewhere, "a slot is taken in which a value is kept")?;
            self.state
                .kept
                .retain(|(register, _)| *register != home.register);
            match home.kept {
                None => ensure(need.free.contains(home.register), "a value is not kept")?,
                Some(slot) => {
                    let mut alive = self.state.alive.iter();
                    let used = alive.any(|temp| self.allocation.home(*temp).kept == Some(slot));
                    ensure(!used, "two values are kept in one slot")?;
                    let at_home = owner(slot) == Some(home.register);
                    let anywhere = self.form.sequence.is_none();
                    ensure(at_home || anywhere, "not at home in a sequence")?;
                    self.state.slots[slot.number()] = app;
                }
            }
            self.state.alive.push(temp);
        }
        Ok(())
    }

    /// The contract of returns, and of indirect jumps and calls: these registers are the runtime's,
    /// and kept at home.
    pub(super) fn comes_in(&mut self, temps: Temps, registers: [Gpr; 2]) -> Checked {
        self.reached = true;
        self.state = State::of_the_app(0);
        self.take(temps)?;
        for (temp, named) in temps.iter().zip(registers) {
            let Home { register, kept } = self.allocation.home(temp);
            ensure(register == named, "not the register that is brought")?;
            ensure(kept.and_then(owner) == Some(named), "not kept at home")?;
            self.state.set(register, Value::Temp(temp));
        }
        Ok(())
    }

    pub(super) fn give(&mut self, temps: Temps) -> Checked {
        for temp in temps.iter() {
            let home = self.allocation.home(temp);
            self.state.end(temp)?;
            match home.kept {
                Some(slot) => {
                    let kept = self.state.slots[slot.number()];
                    ensure(kept == Value::App(home.register), "another value was kept")?;
                    self.state.set(home.register, kept);
                }
                None => self.state.set(home.register, Value::Unknown),
            }
        }
        Ok(())
    }

    /// The same, but the app's values stay where they are kept.
    pub(super) fn keep(&mut self, temps: Temps) -> Checked {
        for temp in temps.iter() {
            let home = self.allocation.home(temp);
            self.state.end(temp)?;
            let holds = self.state.holds.clone();
            self.state.set(home.register, Value::Unknown);
            self.state.holds = holds;
            match home.kept {
                Some(slot) => {
                    let kept = self.state.slots[slot.number()];
                    ensure(kept == Value::App(home.register), "another value was kept")?;
                    self.state.kept.push((home.register, slot));
                }
                // It is the app's as soon as that overwrites it.
                None => self.state.forget_held(home.register),
            }
        }
        Ok(())
    }

    pub(super) fn gone(&mut self, temps: Temps) -> Checked {
        for temp in temps.iter() {
            self.state.end(temp)?;
            let register = self.allocation.register(temp);
            self.state.set(register, Value::App(register));
        }
        Ok(())
    }

    pub(super) fn refill(&mut self, temp: Temp) -> Checked {
        let home = self.allocation.home(temp);
        ensure(self.state.is_alive(temp), "the temporary is not alive")?;
        let kept = home.kept.map(|slot| self.state.slots[slot.number()]);
        ensure(
            kept == Some(Value::App(home.register)),
            "another value was kept",
        )?;
        self.state.set(home.register, Value::App(home.register));
        Ok(())
    }
}

/// The register whose home the slot is.
fn owner(slot: SpillSlot) -> Option<Gpr> {
    let owner = Spill::ALL.into_iter().find(|home| home.slot() == slot);
    owner.map(|home| Gpr::new(home.register()))
}
