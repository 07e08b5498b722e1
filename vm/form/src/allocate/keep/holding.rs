//! What registers that stay with inserted code have of cells.
//!
//! A buffer's position is loaded, moved and stored again in each block, and where a tool's state lies is
//! loaded for each routine in line. If the register that had such a value is still there, the next
//! insertion takes it for the same, and nothing is loaded. That is more than a load less: processors
//! forward a store to a later load at once only where both name the same cell by the same register, which
//! nobody has written meanwhile. So counters that all go by one pointer need not wait for each other.

use super::super::{Home, Wishes};
use crate::uses::uses;
use crate::{Cell, Effect, Few, Gpr, Op, Reg, Temp, Temps, Width};

/// Most registers that are remembered.
const MOST: usize = 4;
/// Bytes of a cell.
const BYTES: u32 = 8;

/// Registers, and the cell of which each has the value, by its displacement from `gs`.
#[derive(Clone, Copy, Default)]
pub(super) struct Holding([Option<(Gpr, i32)>; MOST]);

impl Holding {
    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Gpr, i32)> + use<> {
        self.0.into_iter().flatten()
    }

    /// The register that has the value of the cell at `disp`.
    pub(super) fn of(&self, disp: i32) -> Option<Gpr> {
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
        match loaded(op) {
            Some((to, cell)) if self.of(cell.disp) == Some(register(homes, to)) => {
                Op::Holds { to, cell }
            }
            _ => *op,
        }
    }

    /// Which registers those of `temps` should get that `ops` load, up to their end: the ones that have the
    /// values already.
    pub(super) fn wishes(&self, ops: &[Op], temps: Temps) -> Wishes {
        let mut wishes = Wishes::default();
        if self.iter().next().is_none() {
            return wishes;
        }
        let lives = ops.iter().take_while(|op| !ends(op, temps));
        for (to, cell) in lives.filter_map(|op| loaded(op)) {
            if let Some(register) = self.of(cell.disp).filter(|_| temps.contains(to)) {
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
        if let Some((to, cell)) = loaded(op) {
            self.note(register(homes, to), cell.disp);
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
fn loaded(op: &Op) -> Option<(Temp, Cell)> {
    match *op {
        Op::LoadCell {
            to: Reg::Temp(to),
            cell,
            width: Width::W64,
        } if cell.base.is_none() => Some((to, cell)),
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
