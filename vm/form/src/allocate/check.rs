//! Proves an allocation right, without looking at how it was made.
//!
//! The form is executed with symbols in place of numbers: each register and each spill slot
//! holds the app's value of some register, the value of some temporary, or nothing that
//! anybody knows. What is read must be there; wherever the app's instructions run, or other
//! code is entered, the app's values must be.

mod leaving;
mod lifetimes;
mod state;

use super::{Allocation, Home};
use crate::ARGUMENTS;
use crate::uses::uses;
use crate::{Cell, Form, Gpr, InsId, Label, Living, Op, Record, Reg, Temp, Width};
use alloc::vec::Vec;
use iced_x86::{InstructionInfoFactory, OpAccess, Register, UsedMemory, UsedRegister};
use ppin_abi::area::Entry;
use ppin_abi::record::Trap;
use ppin_abi::spills::SpillSlot;
use ppin_decode::{Ins, effects};
use state::{State, Value};

/// What is wrong with an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// The operation, by its place in the form.
    pub op: usize,
    /// What it finds.
    pub why: &'static str,
}

type Checked = Result<(), &'static str>;

/// Checks the allocation of `form`, which is made from `ins`. `lost` are arithmetic flags that
/// have been destroyed before it, and then those at its end.
///
/// # Errors
/// The first operation that does not find what it needs.
pub fn check(
    form: &Form,
    ins: &[Ins],
    allocation: &Allocation,
    lost: &mut u32,
) -> Result<(), Wrong> {
    let mut checker = Checker {
        form,
        ins,
        allocation,
        state: State::of_the_app(*lost),
        reached: true,
        returning: false,
        placed: Vec::new(),
        brought: Vec::new(),
        arriving: Vec::new(),
    };
    for (op, operation) in form.ops.iter().enumerate() {
        checker.op(operation).map_err(|why| Wrong { op, why })?;
    }
    let end = form.ops.len();
    if checker.reached {
        let whole = checker.state.whole();
        whole.map_err(|why| Wrong { op: end, why })?;
        *lost = checker.state.lost_flags;
    }
    Ok(())
}

struct Checker<'a> {
    form: &'a Form,
    ins: &'a [Ins],
    allocation: &'a Allocation,
    state: State,
    /// Whether control gets here.
    reached: bool,
    /// The runtime is told to go on with the app's code at hand, to which lost flags mean
    /// nothing.
    returning: bool,
    /// Labels that are placed where nothing is alive.
    placed: Vec<Placed>,
    /// What registers hold on all ways to the last label.
    brought: Vec<(Gpr, i32)>,
    /// States that branches bring to labels.
    arriving: Vec<(Label, State)>,
}

/// A label, and what branches back to it must bring.
struct Placed {
    label: Label,
    lost_flags: u32,
    kept: Vec<(Gpr, SpillSlot)>,
    holds: Vec<(Gpr, i32)>,
}

fn ensure(holds: bool, why: &'static str) -> Checked {
    if holds { Ok(()) } else { Err(why) }
}

impl Checker<'_> {
    /// What an operation does to the state, and may ask of it: a table, with an arm for each kind.
    fn op(&mut self, op: &Op) -> Checked {
        match *op {
            Op::Label { label, live } => return self.label(label, live),
            Op::Returned { temps } => {
                ensure(!self.reached, "control gets there without a return")?;
                return self.comes_in(temps, [Gpr::RCX, Gpr::RDX]);
            }
            Op::Arrived { temps, .. } => return self.comes_in(temps, [Gpr::RCX, Gpr::RAX]),
            _ => {}
        }
        if !self.reached {
            return Ok(());
        }
        let held = self.state.holds.clone();
        let zero = self.state.zero.take();
        self.operands(op)?;
        self.cells(op);
        match *op {
            Op::Take { temps } => self.take(temps)?,
            Op::CallOver { to } => {
                self.arriving.push((to, self.state.clone()));
                self.reached = false;
            }
            Op::Give { temps } => self.give(temps)?,
            Op::GiveByZero { temps, zero: by } => {
                ensure(zero == Some(by), "no temporary is 0 here")?;
                self.give(temps)?;
                self.state.zero = zero.filter(|zero| self.state.is_alive(*zero));
            }
            Op::Gone { temps } => self.gone(temps)?,
            Op::Refill { temp } => self.refill(temp)?,
            Op::Entered => self.state.whole()?,
            Op::Begin { .. } | Op::CalleeBegins => self.state.between(self.across())?,
            Op::Plain { ins, .. } => {
                self.state.between(self.across())?;
                self.app(ins)?;
            }
            Op::Keep { temps } => {
                self.keep(temps)?;
                self.state.zero = zero.filter(|zero| self.state.is_alive(*zero));
            }
            Op::Fill { register, slot } => self.state.fill(register, slot)?,
            Op::Holds { to, disp } => self.holds(held, to, disp)?,
            Op::StillKept { register, slot } => {
                let kept = self.state.has_kept(register, slot);
                ensure(kept, "a branch does not bring what is kept")?;
            }
            Op::KeepAgain { register, slot } => self.state.keep_again(register, slot)?,
            Op::StillHolds { register, disp } => self.still_holds((register, disp))?,
            Op::HoldAgain { register, disp } => self.state.hold_again(register, disp)?,
            Op::Lost { register } => self.state.lose(register)?,
            Op::Itself { repeatable: true } => self.state.kept_or_in_place()?,
            Op::App { ins } | Op::AppAimed { ins } | Op::AppRebased { ins, .. } => {
                self.app(ins)?;
            }
            Op::IfZero { temp, to } => {
                let register = self.allocation.register(temp);
                ensure(
                    register == Gpr::RCX,
                    "a branch on another register than rcx",
                )?;
                let mut there = self.state.clone();
                there.zero = Some(temp);
                self.arriving.push((to, there));
            }
            Op::UnlessOne { temp, to } => self.unless_one(temp, to)?,
            Op::JumpUnlessOne { temp, entry } => self.jump_unless_one(temp, entry)?,
            Op::Goto { to } | Op::GotoFar { to } => {
                self.arriving.push((to, self.state.clone()));
                self.reached = false;
            }
            Op::GotoBack { to } => {
                let mut placed = self.placed.iter();
                let placed = placed.find(|placed| placed.label == to);
                let placed = placed.ok_or("a branch back to no label")?;
                self.state.whole_but(&placed.kept)?;
                let mut holds = placed.holds.iter();
                ensure(
                    holds.all(|held| self.state.holds.contains(held)),
                    "a branch back does not bring what registers hold",
                )?;
                let lost = self.state.lost_flags & !placed.lost_flags;
                ensure(lost == 0, "a branch back loses flags")?;
                self.reached = false;
            }
            Op::Abort => self.reached = false,
            Op::Return => self.leave_by_return()?,
            Op::JumpCases { slot } => self.jump_cases(slot)?,
            Op::JumpByIndex { slots, index } => self.jump_by_index(slots, index)?,
            Op::JumpNear { .. } => {
                self.others_find_theirs(&[Gpr::RCX, Gpr::RAX], true)?;
                self.reached = false;
            }
            Op::Record { record, .. } => {
                self.returning = match self.form.records[usize::from(record.0)] {
                    Record::Trap { trap, .. } => trap == Trap::RseqStore,
                    Record::Syscall { .. } => false,
                    Record::Call { .. } | Record::Full { .. } => true,
                };
            }
            Op::Jump { entry } => self.jump(entry)?,
            Op::Again { .. } => self.state.registers_in_place()?,
            Op::JumpAgain { temps } => {
                self.jump(Entry::Bridge)?;
                self.gone(temps)?;
                self.reached = false;
            }
            _ => self.flags_and_exits(op)?,
        }
        Ok(())
    }

    /// The temporary that may live across instructions, and where.
    fn across(&self) -> Option<(Temp, Home)> {
        let slot = self.form.cases?.slot?;
        Some((slot, self.allocation.home(slot)))
    }

    /// Notes which registers have values that later insertions may need.
    fn cells(&mut self, op: &Op) {
        let state = &mut self.state;
        match *op {
            // (On top of a temporary lie counters and records, which no register holds.)
            Op::StoreCell { cell, .. } | Op::SetCell { cell, .. } | Op::AddCell { cell, .. }
                if cell.base.is_none() =>
            {
                state.overwritten(cell.disp);
            }
            Op::Store { .. }
            | Op::StoreBytes { .. }
            | Op::CallRoutine { .. }
            | Op::Jump { .. }
            | Op::JumpAgain { .. } => {
                state.holds.clear();
            }
            _ => {}
        }
        if let Op::StoreCell {
            cell: Cell { base: None, disp },
            from: Reg::Temp(temp),
            width: Width::W64,
        }
        | Op::LoadCell {
            cell: Cell { base: None, disp },
            to: Reg::Temp(temp),
            width: Width::W64,
        } = *op
        {
            let held = (self.allocation.register(temp), disp);
            self.state.holds.push(held);
        }
    }

    /// `held` is what registers held before.
    fn holds(&mut self, held: Vec<(Gpr, i32)>, to: Temp, disp: i32) -> Checked {
        ensure(
            held.contains(&(self.allocation.register(to), disp)),
            "a register does not have the value that it should",
        )?;
        self.state.holds = held;
        Ok(())
    }

    fn flags_and_exits(&mut self, op: &Op) -> Checked {
        let state = &mut self.state;
        match *op {
            Op::AddCell { .. } | Op::AddBundle { .. } => state.lost_flags = effects::ARITHMETIC,
            Op::Lifted { uses, .. } if uses.flags => state.lost_flags = effects::ARITHMETIC,
            Op::Unless { ins, to } | Op::IfTaken { ins, to } => {
                let raw = &self.ins[usize::from(ins.0)].raw;
                let read = effects::flags_read(raw) & state.lost_flags;
                ensure(read == 0, "a predicate is read that is lost")?;
                state.whole()?;
                self.arriving.push((to, self.state.clone()));
            }
            Op::IfFlags { to, .. } => self.arriving.push((to, self.state.clone())),
            Op::CallRoutine { args, .. } => {
                for (temp, register) in args.iter().zip(ARGUMENTS) {
                    let there = self.allocation.register(temp) == register;
                    ensure(there, "an argument is not where the routine takes it")?;
                    let known = state.register(register) == Value::Temp(temp);
                    ensure(known && state.is_alive(temp), "an argument is not computed")?;
                    state.set(register, Value::Unknown);
                }
                state.lost_flags = effects::ARITHMETIC;
            }
            Op::IfByte { to, .. } | Op::IfResult { to } => {
                state.lost_flags = effects::ARITHMETIC;
                self.arriving.push((to, state.clone()));
            }
            Op::FlagsDie { .. } => state.lost_flags = 0,
            Op::SaveFlags { to } => {
                let register = self.allocation.register(to);
                ensure(register == Gpr::RAX, "flags are saved in rax only")?;
                state.flags_in = Some(to);
                state.lost_there = state.lost_flags;
            }
            Op::CompareSource { flags, .. } => {
                ensure(state.flags_in == Some(flags), "flags are not saved")?;
                ensure(state.lost_there == 0, "flags are saved that are lost")?;
                state.lost_flags = effects::ARITHMETIC;
            }
            Op::LeaveIfBelow { .. } => ensure(state.flags_in.is_some(), "flags are not saved")?,
            Op::RestoreFlags { from, dead } => {
                ensure(state.flags_in == Some(from), "flags were not saved there")?;
                state.flags_in = None;
                if !dead {
                    state.lost_flags = state.lost_there;
                }
            }
            Op::ExitIf { .. } | Op::Within { .. } | Op::JumpSealed { .. } => {
                self.state.ready_to_leave()?;
            }
            Op::GoWithin { .. }
            | Op::ExitTaken { .. }
            | Op::ExitCall { .. }
            | Op::ExitNext { .. }
            | Op::JumpSlot { .. }
            | Op::JumpPredicted
            | Op::JumpCell { .. } => {
                self.state.ready_to_leave()?;
                self.reached = false;
            }
            _ => {}
        }
        Ok(())
    }

    /// Temporaries that are read have been written; registers of the app that are read have
    /// the app's value, or it lies where it is kept, for `Move`.
    fn operands(&mut self, op: &Op) -> Checked {
        for used in uses(op) {
            let register = match used.register {
                Reg::Temp(temp) => {
                    ensure(self.state.is_alive(temp), "the temporary is not alive")?;
                    self.allocation.register(temp)
                }
                Reg::App(register) => register,
            };
            let value = match used.register {
                Reg::Temp(temp) => Value::Temp(temp),
                Reg::App(register) => Value::App(register),
            };
            if used.read {
                let kept = matches!(op, Op::Move { .. }) && self.state.keeps(register);
                let there = self.state.register(register) == value;
                let app = matches!(used.register, Reg::App(_));
                ensure(
                    there || app && kept,
                    "a register with another value is read",
                )?;
            }
            if used.written {
                if matches!(used.register, Reg::App(_)) {
                    let there = self.state.register(register) == value;
                    ensure(there, "a register of the app is written that is taken")?;
                } else {
                    self.before_written(op)?;
                }
                self.state.set(register, value);
            }
        }
        Ok(())
    }

    /// Parts of app instructions read their operands before a temporary is written.
    fn before_written(&self, op: &Op) -> Checked {
        match *op {
            Op::LoadTarget { ins, .. } => self.operand_in_place(ins, true),
            Op::LeaOperand { ins, .. } => self.operand_in_place(ins, false),
            _ => Ok(()),
        }
    }

    fn operand_in_place(&self, ins: InsId, register_too: bool) -> Checked {
        let raw = &self.ins[usize::from(ins.0)].raw;
        let direct = if register_too {
            raw.op0_register()
        } else {
            Register::None
        };
        let named = [raw.memory_base(), raw.memory_index(), direct];
        for register in named.into_iter().filter_map(Gpr::holding) {
            let there = self.state.register(register) == Value::App(register);
            ensure(there, "an operand's register has another value")?;
        }
        Ok(())
    }

    /// The instruction itself: each register that it touches is the app's. One that it
    /// overwrites as a whole may have been anything before.
    fn app(&mut self, ins: InsId) -> Checked {
        let raw = &self.ins[usize::from(ins.0)].raw;
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(raw);
        let accesses = |memory: &UsedMemory| memory.access() != OpAccess::NoMemAccess;
        let exact = self.state.kept_all(self.allocation);
        let quiet = !info.used_memory().iter().any(accesses);
        ensure(exact || quiet, "a fault would show a register that is lost")?;
        let used = info.used_registers();
        let named = |used: &UsedRegister| Gpr::holding(used.register());
        for (used, register) in used.iter().filter_map(|used| Some((used, named(used)?))) {
            let there = self.state.register(register) == Value::App(register);
            let free = overwrites(used) && !self.state.is_taken(register, self.allocation);
            let touched = !matches!(used.access(), OpAccess::None | OpAccess::NoMemAccess);
            ensure(
                there || free || !touched,
                "the app's instruction finds another value",
            )?;
        }
        let overwritten = used.iter().filter(|used| overwrites(used));
        for register in overwritten.filter_map(named) {
            self.state.set(register, Value::App(register));
        }
        // What was kept of it is an old value now.
        let writes = |used: &&UsedRegister| {
            let only_read = matches!(
                used.access(),
                OpAccess::None | OpAccess::NoMemAccess | OpAccess::Read | OpAccess::CondRead
            );
            !only_read
        };
        for register in used.iter().filter(writes).filter_map(named) {
            self.state.forget_kept(register);
        }
        let read = effects::flags_read(raw) & self.state.lost_flags;
        ensure(read == 0, "flags are read that are lost")?;
        self.state.lost_flags &= !effects::flags_killed(raw, self.form.optimize);
        Ok(())
    }

    /// Behind the label that was placed last: what stays there, and branches back bring.
    fn still_holds(&mut self, held: (Gpr, i32)) -> Checked {
        let placed = self.placed.last_mut();
        let placed = placed.ok_or("no label at which registers hold something")?;
        ensure(
            self.brought.contains(&held),
            "a register does not hold that at a label",
        )?;
        placed.holds.push(held);
        self.state.holds.push(held);
        Ok(())
    }

    fn label(&mut self, label: Label, live: Living) -> Checked {
        let arriving = self.arriving.iter().filter(|(to, _)| *to == label);
        let mut states: Vec<State> = arriving.map(|(_, state)| state.clone()).collect();
        states.extend(self.reached.then(|| self.state.clone()));
        let mut states = states.into_iter();
        let Some(first) = states.next() else {
            return Ok(());
        };
        let merged = states.fold(first, State::merge);
        self.state = merged.with_alive(live, self.allocation)?;
        // Only what is said behind the label stays: branches back bring no more.
        self.brought = core::mem::take(&mut self.state.holds);
        if self.state.between(None).is_ok() {
            self.placed.push(Placed {
                label,
                lost_flags: self.state.lost_flags,
                kept: self.state.kept.clone(),
                holds: Vec::new(),
            });
        }
        self.reached = true;
        Ok(())
    }
}

/// Whether nothing of the register's old value is left.
fn overwrites(used: &UsedRegister) -> bool {
    used.access() == OpAccess::Write && matches!(used.register().size(), 4 | 8)
}
