//! What registers that stay with inserted code have of cells.
//!
//! A buffer's position is loaded, moved and stored again in each block; where a tool's state lies is loaded
//! for each routine in line. If the register that had such a value is still there, the next insertion takes
//! it for the same, and nothing is loaded.

use super::super::{Home, Wishes};
use crate::uses::uses;
use crate::{Cell, Effect, Few, Gpr, Op, Reg, Temp, Temps, Width};

/// Most registers that are remembered.
const MOST: usize = 4;
/// Bytes of a cell.
const BYTES: u32 = 8;

/// Registers, and the cell whose value each has, by its displacement from `gs`.
#[derive(Clone, Copy, Default)]
pub(super) struct Holding([Option<(Gpr, i32)>; MOST]);

impl Holding {
    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Gpr, i32)> + use<> {
        self.0.into_iter().flatten()
    }

    /// The register that has the value of the cell at `disp`.
    fn of(&self, disp: i32) -> Option<Gpr> {
        let found = self.iter().find(|(_, held)| *held == disp);
        found.map(|(register, _)| register)
    }

    /// `register` gets another value.
    pub(super) fn forget(&mut self, register: Gpr) {
        self.retain(|(holder, _)| holder != register);
    }

    fn retain(&mut self, stays: impl Fn((Gpr, i32)) -> bool) {
        for entry in &mut self.0 {
            *entry = entry.filter(|held| stays(*held));
        }
    }

    /// `register` has the value of the cell at `disp`.
    fn note(&mut self, register: Gpr, disp: i32) {
        self.retain(|(holder, held)| holder != register && held != disp);
        if let Some(entry) = self.0.iter_mut().find(|entry| entry.is_none()) {
            *entry = Some((register, disp));
        }
    }

    /// What does the same as `op` without a load, if that can be.
    pub(super) fn instead(&self, op: &Op, homes: &Few<Home>) -> Op {
        let known = loaded(op).filter(|(to, disp)| self.of(*disp) == Some(register(homes, *to)));
        known.map_or(*op, |(to, disp)| Op::Holds { to, disp })
    }

    /// Which registers those of `temps` should get that `ops` load, up to their end: the ones that have the
    /// values already.
    pub(super) fn wishes(&self, ops: &[Op], temps: Temps) -> Wishes {
        let mut wishes = Wishes::default();
        if self.iter().next().is_none() {
            return wishes;
        }
        let lives = ops.iter().take_while(|op| !ends(op, temps));
        for (to, disp) in lives.filter_map(loaded) {
            if let Some(register) = self.of(disp).filter(|_| temps.contains(to)) {
                wishes.add(to, register);
            }
        }
        wishes
    }

    /// Notes what `op` does.
    pub(super) fn pass(&mut self, op: &Op, homes: &Few<Home>) {
        match *op {
            Op::StoreCell {
                cell: Cell { base: None, disp },
                from: Reg::Temp(from),
                width: Width::W64,
            } => {
                self.overwritten(disp);
                self.note(register(homes, from), disp);
            }
            Op::StoreCell {
                cell: Cell { base: None, disp },
                ..
            }
            | Op::SetCell {
                cell: Cell { base: None, disp },
                ..
            }
            | Op::AddCell {
                cell: Cell { base: None, disp },
                ..
            } => self.overwritten(disp),
            // (On top of a temporary lie counters and records, which no register has.)
            Op::StoreCell { .. } | Op::SetCell { .. } | Op::AddCell { .. } => {}
            Op::Holds { .. } | Op::Take { .. } => {}
            // The ways that they lead to begin with nothing.
            Op::IfFlags { .. } | Op::IfResult { .. } => {}
            _ => match op.effect() {
                // What the app's instructions touch has come back or is lost.
                Effect::Apps => {}
                Effect::Registers => self.forget_written(op, homes),
                Effect::Cells | Effect::Anything => *self = Self::default(),
            },
        }
        if let Some((to, disp)) = loaded(op) {
            self.note(register(homes, to), disp);
        }
    }

    /// Something is written to the cell at `disp`.
    fn overwritten(&mut self, disp: i32) {
        self.retain(|(_, held)| held.abs_diff(disp) >= BYTES);
    }

    fn forget_written(&mut self, op: &Op, homes: &Few<Home>) {
        for used in uses(op).filter(|used| used.written) {
            self.forget(match used.register {
                Reg::Temp(temp) => register(homes, temp),
                Reg::App(register) => register,
            });
        }
    }
}

/// What `op` loads from where, if it is a cell as a whole.
fn loaded(op: &Op) -> Option<(Temp, i32)> {
    match *op {
        Op::LoadCell {
            to: Reg::Temp(to),
            cell: Cell { base: None, disp },
            width: Width::W64,
        } => Some((to, disp)),
        _ => None,
    }
}

/// Whether `op` is the end of `temps`.
fn ends(op: &Op, temps: Temps) -> bool {
    matches!(*op, Op::Give { temps: ended } | Op::Gone { temps: ended } if ended == temps)
}

fn register(homes: &Few<Home>, temp: Temp) -> Gpr {
    homes.at(temp.0).register
}
