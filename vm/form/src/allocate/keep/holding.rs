//! What a register that stays with inserted code has of a cell.
//!
//! A buffer's position is loaded, moved and stored again in each block. A load behind a store to the same
//! cell comes late, and the next block waits for it. If the register that was stored is still there, and
//! the next block takes it for the same, nothing is loaded.

use super::super::Home;
use crate::uses::uses;
use crate::{Cell, Effect, Few, Gpr, Op, Reg, Temp, Width};

/// The register and the cell of which it has the value.
#[derive(Clone, Copy, Default)]
pub(super) struct Holding(Option<(Gpr, i32)>);

impl Holding {
    /// `register` gets another value.
    pub(super) fn forget(&mut self, register: Gpr) {
        self.0 = self.0.filter(|(holder, _)| *holder != register);
    }

    /// What does the same as `op` without a load, if that can be.
    pub(super) fn instead(&self, op: &Op, homes: &Few<Home>) -> Op {
        match *op {
            Op::LoadCell {
                to: Reg::Temp(to),
                cell,
                width: Width::W64,
            } if cell.base.is_none() && self.0 == Some((register(homes, to), cell.disp)) => {
                Op::Holds { to, cell }
            }
            other => other,
        }
    }

    /// Notes what `op` does.
    pub(super) fn pass(&mut self, op: &Op, homes: &Few<Home>) {
        match *op {
            Op::StoreCell {
                cell: Cell { base: None, disp },
                from: Reg::Temp(from),
                width: Width::W64,
            } => self.0 = Some((register(homes, from), disp)),
            Op::Holds { .. } | Op::Take { .. } => {}
            _ => match op.effect() {
                // What the app's instructions touch has come back or is lost.
                Effect::Apps => {}
                Effect::Registers => self.forget_written(op, homes),
                Effect::Cells | Effect::Anything => self.0 = None,
            },
        }
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

fn register(homes: &Few<Home>, temp: Temp) -> Gpr {
    homes.at(temp.0).register
}
