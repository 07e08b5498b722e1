//! Registers that stay with inserted code.
//!
//! Where temporaries end, the app's values need not come back at once: they lie in spill slots, where
//! faults and signals find them, until the app touches the registers. What is inserted before the next
//! instruction often takes the same registers again, and finds the values kept already. So a stretch of
//! code keeps and fills a register once, not once for each insertion.
//!
//! ```text
//! Take t0             rcx                        Take t0             rcx
//! ...                                            ...
//! Give t0                                        Keep t0
//! App 0               mov [rdi], rax             App 0
//! Take t1             rcx                        Take t1             rcx, which is kept already
//! ...                                   becomes  ...
//! Give t1                                        Keep t1
//! App 1               add rax, rcx               Fill rcx
//!                                                App 1
//! ```
//! Where control may come or go by other ways than from one operation to the next, all are back, but in two
//! cases. A branch out of the trace, if it is not the last, goes by way of code that stands aside and brings
//! them back. And where nothing but branches back arrive, from code that stands aside, registers stay as
//! they are, and that code brings about the same.

mod holding;

use super::{Allocation, Allocator, HOMES};
use crate::uses::app_registers;
use crate::{Effect, Form, Gpr, InsId, Label, Living, Op, Reg, RegSet, Temps};
use alloc::vec::Vec;
use holding::Holding;
use iced_x86::InstructionInfoFactory;
use ppin_abi::context::Context;
use ppin_abi::spills::SpillSlot;
use ppin_decode::touched::Touched;
use ppin_decode::{Ins, Kind};

/// Registers whose app values lie in slots, though no temporary has them.
#[derive(Clone, Copy, Default)]
pub(super) struct Kept {
    pub registers: RegSet,
    slots: [Option<SpillSlot>; 16],
}

impl Kept {
    /// Where the app's value of `register` lies.
    pub(super) fn slot(&self, register: Gpr) -> Option<SpillSlot> {
        self.slots[usize::from(register.number())]
    }

    /// Whether there is something in `slot`.
    pub(super) fn has(&self, slot: SpillSlot) -> bool {
        self.slots.contains(&Some(slot))
    }

    pub(super) fn add(&mut self, register: Gpr, slot: SpillSlot) {
        self.registers = self.registers.with(register);
        self.slots[usize::from(register.number())] = Some(slot);
    }

    pub(super) fn remove(&mut self, register: Gpr) -> Option<SpillSlot> {
        self.registers = self.registers.minus(RegSet::of(&[register]));
        self.slots[usize::from(register.number())].take()
    }
}

/// Gives a register to each temporary of `form`, which is made from `ins`, and lets registers stay with
/// inserted code.
///
/// # Panics
/// As [`super::allocate()`].
pub fn allocate_keeping(form: &mut Form, ins: &[Ins]) -> Allocation {
    let exits = form.ops.iter().filter(|op| matches!(op, Op::ExitIf { .. }));
    let label = form.reserve_labels(exits.count());
    let mut keeper = Keeper {
        allocator: Allocator::new(form),
        ops: Vec::with_capacity(form.ops.len() + 8),
        tail: Vec::new(),
        label,
        ins,
        current: None,
        holding: Holding::default(),
        aimed_at: Vec::new(),
        placed: Vec::new(),
        factory: InstructionInfoFactory::new(),
    };
    for (at, op) in form.ops.iter().enumerate() {
        keeper.op(at, op);
    }
    keeper.bring_back(RegSet::ANY, None);
    keeper.ops.append(&mut keeper.tail);
    let (homes, ops) = (keeper.allocator.homes, keeper.ops);
    form.ops = ops;
    Allocation(homes)
}

struct Keeper<'a> {
    allocator: Allocator<'a>,
    /// The operations so far, with those that keep and bring back.
    ops: Vec<Op>,
    /// What comes behind all of them: ways out of the trace.
    tail: Vec<Op>,
    /// The first label that is not used yet.
    label: Label,
    ins: &'a [Ins],
    /// The instruction at hand.
    current: Option<InsId>,
    /// What registers hold for later insertions.
    holding: Holding,
    /// Labels that branches forward lead to.
    aimed_at: Vec<Label>,
    /// Labels to which nobody comes but by branches back.
    placed: Vec<Placed>,
    factory: InstructionInfoFactory,
}

/// What is kept at a label, and what registers have there.
struct Placed {
    label: Label,
    kept: Kept,
    holding: Holding,
}

impl Keeper<'_> {
    fn op(&mut self, at: usize, op: &Op) {
        if let Op::Begin { ins, .. } | Op::Plain { ins, .. } = *op {
            self.current = Some(ins);
        }
        match *op {
            Op::Label { label, .. } if !self.aimed_at.contains(&label) => {
                return self.place(at, label, op);
            }
            Op::GotoBack { to } => self.keep_as_at(to),
            Op::ExitIf { ins, context } if self.goes_on_keeping(at, ins) => {
                return self.leave_aside(ins, context);
            }
            _ if self.allocator.kept.registers != RegSet::NONE => {
                let wanted = self.wanted(op);
                self.bring_back(wanted, Some(op));
            }
            _ => {}
        }
        self.aimed_at.extend(branches_forward(op));
        match *op {
            Op::Take { temps } => self.take(at, temps),
            Op::Give { temps } => return self.keep(temps),
            _ => self.allocator.op(at, op),
        }
        let homes = &self.allocator.homes;
        let op = &self.holding.instead(op, homes);
        self.holding.pass(op, homes);
        self.ops.push(*op);
        if let Op::Plain { ins, .. } | Op::App { ins } | Op::AppAimed { ins } = *op {
            self.lose(ins);
        }
    }

    /// A label to which branches back bring about what is there already.
    fn place(&mut self, at: usize, label: Label, op: &Op) {
        self.placed.push(Placed {
            label,
            kept: self.allocator.kept,
            holding: self.holding,
        });
        self.allocator.op(at, op);
        self.ops.push(*op);
        for (register, disp) in self.holding.iter() {
            self.ops.push(Op::StillHolds { register, disp });
        }
    }

    /// Registers that must be the app's when `op` is executed.
    fn wanted(&mut self, op: &Op) -> RegSet {
        let app = |reg: Reg| match reg {
            Reg::App(register) => RegSet::of(&[register]),
            Reg::Temp(_) => RegSet::NONE,
        };
        match *op {
            Op::Begin { ins, .. }
                if self.is_simple(ins) || self.is_branch(ins) || self.leaves(ins) =>
            {
                RegSet::NONE
            }
            Op::Plain { ins, .. }
            | Op::App { ins }
            | Op::AppAimed { ins }
            | Op::AppRebased { ins, .. }
            | Op::LoadTarget { ins, .. }
            | Op::LeaOperand { ins, .. } => self.needed(ins),
            Op::Itself { .. } => match self.current {
                Some(ins) if self.is_branch(ins) => RegSet::NONE,
                Some(ins) => self.needed(ins),
                None => RegSet::ANY,
            },
            // From where it is kept.
            Op::Move { to, .. } => app(to),
            Op::Take { .. }
            | Op::Give { .. }
            | Op::Ahead
            | Op::Nop
            | Op::Counted { .. }
            | Op::CalleeBegins => RegSet::NONE,
            _ => match op.effect() {
                Effect::Registers | Effect::Cells => app_registers(op),
                Effect::Apps | Effect::Anything => RegSet::ANY,
            },
        }
    }

    /// Whether registers stay with inserted code behind the branch `ins`, which is operation `at`.
    fn goes_on_keeping(&self, at: usize, ins: InsId) -> bool {
        let last = matches!(
            self.allocator.form.ops.get(at + 1),
            Some(Op::ExitNext { .. }) | None
        );
        let kept = self.allocator.kept.registers != RegSet::NONE;
        kept && !last && self.ins[usize::from(ins.0)].kind == Kind::CondJump
    }

    /// The branch `ins` goes to where all that is kept comes back, and from there out of the trace.
    fn leave_aside(&mut self, ins: InsId, context: Context) {
        let to = self.label;
        self.label = Label(to.0 + 1);
        let condition = self.ins[usize::from(ins.0)].leaves_on();
        self.ops.push(Op::IfFlags { condition, to });
        let live = Living::of(&[]);
        self.tail
            .extend([Op::Inside { ins }, Op::Label { label: to, live }]);
        let kept = self.allocator.kept;
        let registers = || kept.registers.iter();
        let places = || registers().filter_map(|register| Some((register, kept.slot(register)?)));
        let still = places().map(|(register, slot)| Op::StillKept { register, slot });
        self.tail.extend(still);
        let back = places().map(|(register, slot)| Op::Fill { register, slot });
        self.tail.extend(back);
        self.tail.push(Op::ExitTaken { ins, context });
    }

    /// What is kept becomes what is at `label`, which is placed.
    fn keep_as_at(&mut self, label: Label) {
        let placed = self.placed.iter().find(|placed| placed.label == label);
        let (there, holding) = placed.map_or_else(Default::default, |p| (p.kept, p.holding));
        let kept = self.allocator.kept;
        let other = |register: &Gpr| kept.slot(*register) != there.slot(*register);
        self.bring_back(kept.registers.iter().filter(other).collect(), None);
        for register in there.registers.iter() {
            if self.allocator.kept.slot(register).is_none()
                && let Some(slot) = there.slot(register)
            {
                self.ops.push(Op::KeepAgain { register, slot });
            }
        }
        for (register, disp) in holding.iter() {
            self.ops.push(Op::HoldAgain { register, disp });
        }
        // (What comes next is reached by other ways.)
        self.allocator.kept = Kept::default();
    }

    fn is_simple(&self, ins: InsId) -> bool {
        let kind = self.ins[usize::from(ins.0)].kind;
        matches!(kind, Kind::Verbatim | Kind::RipRelative)
    }

    /// Whether it is a branch that depends on flags alone.
    fn is_branch(&self, ins: InsId) -> bool {
        self.ins[usize::from(ins.0)].kind == Kind::CondJump
    }

    /// Whether it takes registers and leaves.
    fn leaves(&self, ins: InsId) -> bool {
        let kind = self.ins[usize::from(ins.0)].kind;
        matches!(kind, Kind::IndirectJump | Kind::Ret)
    }

    fn touched(&mut self, ins: InsId) -> Touched {
        Touched::of(&self.ins[usize::from(ins.0)], &mut self.factory)
    }

    /// Registers that the instruction needs; all, if it is rewritten and does not leave.
    fn needed(&mut self, ins: InsId) -> RegSet {
        if self.is_simple(ins) || self.leaves(ins) {
            self.touched(ins).needed
        } else {
            RegSet::ANY
        }
    }

    /// Brings those of `wanted` back that are kept, before `op`.
    fn bring_back(&mut self, wanted: RegSet, op: Option<&Op>) {
        let wanted = self.allocator.kept.registers.and(wanted);
        if wanted == RegSet::NONE {
            return;
        }
        if let Some(Op::Begin { ins, .. } | Op::Plain { ins, .. }) = op {
            self.ops.push(Op::Inside { ins: *ins });
        }
        for register in wanted.iter() {
            if let Some(slot) = self.allocator.kept.remove(register) {
                self.holding.forget(register);
                self.ops.push(Op::Fill { register, slot });
            }
        }
    }

    fn take(&mut self, at: usize, temps: Temps) {
        let mut looked_at = None;
        for temp in temps.iter() {
            let need = self.allocator.form.needs.at(temp.0).one_of;
            if need.is_single() && self.allocator.kept.registers != RegSet::NONE {
                let read = *looked_at.get_or_insert_with(|| self.looked_at(at, temps));
                self.bring_back(need.and(read), None);
                self.make_way(need);
            }
        }
        let ops = &self.allocator.form.ops[at + 1..];
        self.allocator.wishes = self.holding.wishes(ops, temps);
        let before = self.allocator.state();
        if !self.allocator.take(at, temps) {
            // Too many slots are in use.
            self.allocator.set_state(before);
            self.bring_back(RegSet::ANY, None);
            let taken = self.allocator.take(at, temps);
            assert!(taken, "no register for a temporary");
        }
    }

    /// Registers of the app that are looked at while `temps` live: they must be there when they are taken.
    fn looked_at(&mut self, at: usize, temps: Temps) -> RegSet {
        let mut read = RegSet::NONE;
        for op in &self.allocator.form.ops[at + 1..] {
            match *op {
                Op::Give { temps: ended } | Op::Gone { temps: ended } if ended == temps => break,
                Op::LoadTarget { ins, .. }
                | Op::LeaOperand { ins, .. }
                | Op::AppRebased { ins, .. } => {
                    read = read.or(self.touched(ins).needed);
                }
                _ => read = read.or(app_registers(op)),
            }
        }
        read
    }

    /// What must be one register shall be kept at home: others must not be there, nor it elsewhere.
    fn make_way(&mut self, one_of: RegSet) {
        let Some(register) = one_of.iter().next() else {
            return;
        };
        let Some(home) = HOMES[usize::from(register.number())] else {
            return;
        };
        let kept = self.allocator.kept;
        let in_the_way = |other: &Gpr| match kept.slot(*other) {
            Some(slot) => (slot == home) != (*other == register),
            None => false,
        };
        // (A register that is kept elsewhere than at home is no matter for another one.)
        let matters = |other: &Gpr| *other == register || kept.slot(*other) == Some(home);
        let all = kept.registers.iter().filter(in_the_way).filter(matters);
        self.bring_back(all.collect(), None);
    }

    /// The end of `temps`.
    fn keep(&mut self, temps: Temps) {
        self.allocator.release(temps);
        for temp in temps.iter() {
            let home = self.allocator.homes.at(temp.0);
            match home.kept {
                Some(slot) => self.allocator.kept.add(home.register, slot),
                // The app is about to overwrite it, and nobody will be told.
                None => self.holding.forget(home.register),
            }
        }
        self.ops.push(Op::Keep { temps });
    }

    /// What `ins` has overwritten is not kept any more.
    fn lose(&mut self, ins: InsId) {
        if self.allocator.kept.registers == RegSet::NONE {
            return;
        }
        let overwritten = self.touched(ins).overwritten;
        for register in overwritten.iter() {
            if self.allocator.kept.remove(register).is_some() {
                self.holding.forget(register);
                self.ops.push(Op::Lost { register });
            }
        }
    }
}

/// The label that `op` leads to, if that stands behind it.
fn branches_forward(op: &Op) -> Option<Label> {
    match *op {
        Op::IfZero { to, .. }
        | Op::IfFlags { to, .. }
        | Op::IfTaken { to, .. }
        | Op::IfByte { to, .. }
        | Op::IfResult { to }
        | Op::Unless { to, .. }
        | Op::UnlessOne { to, .. }
        | Op::Goto { to }
        | Op::GotoFar { to }
        | Op::CallOver { to } => Some(to),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
