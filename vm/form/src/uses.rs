//! Which registers an operation of inserted code names, and what for.
//!
//! App instructions name theirs themselves; of the operations that stand for a part of one
//! (`AppRebased`, `LoadTarget`, `LeaOperand`) only what is named beside it is said here.

use crate::op::{LiftedUses, Op, Reg, Sum};
use ppin_decode::{Gpr, RegSet};

/// A register and what is done with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Use {
    /// Which one.
    pub register: Reg,
    /// Its value is needed.
    pub read: bool,
    /// It gets a new value.
    pub written: bool,
}

fn reads(register: impl Into<Reg>) -> Option<Use> {
    Some(Use {
        register: register.into(),
        read: true,
        written: false,
    })
}

fn writes(register: impl Into<Reg>) -> Option<Use> {
    Some(Use {
        register: register.into(),
        read: false,
        written: true,
    })
}

fn both(register: impl Into<Reg>) -> Option<Use> {
    Some(Use {
        register: register.into(),
        read: true,
        written: true,
    })
}

fn named(register: Option<Gpr>) -> Option<Use> {
    register.and_then(reads)
}

/// Registers that `op` names, those that it reads first.
pub fn uses(op: &Op) -> impl Iterator<Item = Use> {
    let none = None;
    if let Op::Lifted { uses, .. } = op {
        return of_lifted(uses).into_iter().flatten();
    }
    let [one, two, three]: [Option<Use>; 3] = match *op {
        Op::AppRebased { base, .. } => [reads(base), none, none],
        Op::Move { to, from } => [reads(from), writes(to), none],
        Op::Not { reg } | Op::WordAt { reg } | Op::WordOffset { reg } => [both(reg), none, none],
        Op::Swap { one, other } => [both(one), both(other), none],
        Op::Lea {
            to, base, index, ..
        } => [reads(base), index.and_then(reads), writes(to)],
        Op::Address {
            to, base, index, ..
        } => [base.and_then(reads), index.and_then(reads), writes(to)],
        Op::Load { to, base } => [reads(base), writes(to), none],
        Op::Store { base, from } | Op::StoreBytes { base, from, .. } => {
            [reads(base), reads(from), none]
        }
        Op::StackBack { from } => [reads(from), none, none],
        Op::StackAwayChecked { target, by } => [writes(target), writes(by), none],
        Op::NearIndex { to, from } => [reads(from), writes(to), none],
        Op::JumpCases { slot } => [reads(slot), none, none],
        Op::JumpByIndex { slots, index } => [reads(slots), reads(index), none],
        Op::JumpNear { target, index } => [reads(target), reads(index), none],
        Op::LoadCell { to, cell, .. } => [cell.base.and_then(reads), writes(to), none],
        Op::StoreCell { cell, from, .. } => [cell.base.and_then(reads), reads(from), none],
        Op::StoreField { cell, from, .. } => [cell.base.and_then(reads), reads(from), none],
        Op::SetCell { cell, .. } | Op::AddCell { cell, .. } | Op::SetField { cell, .. } => {
            [cell.base.and_then(reads), none, none]
        }
        Op::LeaSum {
            to,
            sum: Sum { base, index, .. },
        } => [named(base), named(index), writes(to)],
        Op::PopEntry { index, .. } => [reads(index), none, none],
        Op::WriteFs { from } => [reads(from), none, none],
        Op::RestoreFlags { from: temp, .. }
        | Op::JumpUnlessOne { temp, .. }
        | Op::UnlessOne { temp, .. } => [both(temp), none, none],
        Op::CompareSource { flags, word, .. } => [reads(flags), word.and_then(writes), none],
        Op::IfZero { temp, .. } | Op::LeaveIfBelow { word: temp, .. } => [reads(temp), none, none],
        _ => [only_written(op), none, none],
    };
    [one, two, three, none].into_iter().flatten()
}

/// The register of an `op` that names no other, and writes it.
fn only_written(op: &Op) -> Option<Use> {
    match *op {
        Op::LoadByte { to, .. }
        | Op::LeaApp { to, .. }
        | Op::LoadAppFar { to, .. }
        | Op::Set { to, .. }
        | Op::SetWide { to, .. }
        | Op::LoadApp { to, .. }
        | Op::Transaction { to }
        | Op::Pop { to }
        | Op::LoadSlot { to, .. }
        | Op::LeaSlot { to, .. }
        | Op::LoadCounters { to, .. }
        | Op::LoadNext { to, .. }
        | Op::LoadReturn { to, .. }
        | Op::LoadPrediction { to }
        | Op::LeaSealed { to }
        | Op::LeaCases { to }
        | Op::LoadTable { to }
        | Op::LoadCases { to }
        | Op::NameCases { to }
        | Op::Here { to }
        | Op::LoadTarget { to, .. }
        | Op::LeaOperand { to, .. }
        | Op::StackWord { to }
        | Op::LoadStack { to }
        | Op::StackAway { by: to }
        | Op::ClearBelow { by: to }
        | Op::ReadFs { to } => writes(to),
        Op::SaveFlags { to }
        | Op::Record { to, .. }
        | Op::HiddenJump { by: to, .. }
        | Op::Holds { to, .. }
        | Op::AddBundleBy { by: to, .. } => writes(to),
        _ => None,
    }
}

fn of_lifted(uses: &LiftedUses) -> [Option<Use>; 4] {
    core::array::from_fn(|n| {
        let [read, written] = [uses.reads, uses.writes].map(|set| set & 1 << n != 0);
        (read || written).then_some(Use {
            register: uses.temps[n].into(),
            read,
            written,
        })
    })
}

/// Registers of the app that `op` names.
pub fn app_registers(op: &Op) -> RegSet {
    let app = |register: Reg| match register {
        Reg::App(register) => RegSet::NONE.with(register),
        Reg::Temp(_) => RegSet::NONE,
    };
    // What tools insert most is told apart by hand: this is asked for every count.
    match *op {
        Op::AddCell { .. }
        | Op::AddBundle { .. }
        | Op::Counted { .. }
        | Op::LoadCounters { to: Reg::Temp(_) } => RegSet::NONE,
        Op::LoadCell { to, .. } => app(to),
        Op::StoreCell { from, .. } => app(from),
        _ => uses(op).fold(RegSet::NONE, |set, used| set.or(app(used.register))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, Gpr, Temp};
    use super::*;

    #[test]
    fn what_is_read_comes_first() {
        let (to, index) = (Temp(0).into(), Some(Reg::App(Gpr::RAX)));
        let lea = Op::Lea {
            to,
            base: to,
            index,
            disp: 0,
        };
        let all: Vec<Use> = uses(&lea).collect();
        assert_eq!(all.len(), 3);
        assert!(all[0].read && all[1].read && !all[1].written);
        assert!(all[2].written && !all[2].read && all[2].register == to);
        assert_eq!(app_registers(&lea), RegSet::NONE.with(Gpr::RAX));
    }

    #[test]
    fn cells_on_top_of_a_temporary_read_it() {
        let cell = Cell {
            base: Some(Temp(3)),
            disp: 8,
        };
        let add = Op::AddCell { cell, amount: 1 };
        assert!(uses(&add).eq(reads(Temp(3))));
        assert_eq!(uses(&Op::Nop).count(), 0);
        assert_eq!(app_registers(&add), RegSet::NONE);
    }
}
