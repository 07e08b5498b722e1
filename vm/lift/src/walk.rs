//! Walks through a routine for known arguments, along all ways to its ends.
//!
//! Each way is walked for itself, so code behind a branch may be lifted twice, with different
//! values known. What is known is not computed again, and what only keeps registers on the stack
//! disappears. A way that cannot be lifted, and that has written nothing yet, ends with a call of
//! the whole routine.

use crate::body::{Branch, End, Path, Step, Why};
use crate::decide::decision;
use crate::fold::holds;
use crate::function::decode;
use crate::lift::Wanted;
use crate::values::{CpuFlags, State};
use alloc::boxed::Box;
use alloc::vec::Vec;
use iced_x86::{Code, ConditionCode, FlowControl, Instruction, OpKind, RflagsBits};
use ppin_api::compiler::CodeBytes;

/// Most instructions on one way.
const LONGEST: u32 = 120;
/// Most instructions on all ways.
const ALL: u32 = 2_000;
/// Most steps of a body.
const STEPS: usize = 48;
/// Most branches on one way.
const BRANCHES: u32 = 6;

pub(crate) struct Walker<'a> {
    pub code: &'a dyn CodeBytes,
    wanted: Wanted,
    /// Instructions that may yet be walked through.
    budget: u32,
}

/// How far a way may yet go.
#[derive(Clone, Copy)]
struct Left {
    instructions: u32,
    branches: u32,
}

impl<'a> Walker<'a> {
    pub(crate) const fn new(code: &'a dyn CodeBytes, wanted: Wanted) -> Self {
        Self {
            code,
            wanted,
            budget: ALL,
        }
    }

    /// The ways from `start` on.
    pub(crate) fn walk(&mut self, start: u64, state: State) -> Result<Path, Why> {
        let left = Left {
            instructions: LONGEST,
            branches: BRANCHES,
        };
        self.path(start, state, left)
    }

    fn path(&mut self, start: u64, mut state: State, mut left: Left) -> Result<Path, Why> {
        let (mut at, mut steps) = (start, Vec::new());
        loop {
            left.instructions = left.instructions.checked_sub(1).ok_or(Why::Long)?;
            self.budget = self.budget.checked_sub(1).ok_or(Why::Long)?;
            let ins = decode(self.code, at).ok_or(Why::Unreadable)?;
            match ins.flow_control() {
                FlowControl::Next => self.step(&ins, &mut state, &mut steps)?,
                FlowControl::ConditionalBranch => match self.branch(&ins, &state)? {
                    Some(true) => {
                        at = ins.near_branch_target();
                        continue;
                    }
                    Some(false) => {}
                    None => {
                        let end = self.both(&ins, &state, left)?;
                        return Ok(Path { steps, end });
                    }
                },
                FlowControl::UnconditionalBranch if ins.op0_kind() == OpKind::NearBranch64 => {
                    at = ins.near_branch_target();
                    continue;
                }
                FlowControl::IndirectBranch => {
                    at = state.known_target(&ins).ok_or(Why::Indirect)?;
                    continue;
                }
                FlowControl::Return if ins.code() == Code::Retnq => {
                    let end = match self.wanted {
                        _ if state.stack_pointer()? != 0 => return Err(Why::Stack),
                        Wanted::Deeds => End::Done,
                        Wanted::Decision(outcome) => decision(&state, &mut steps, outcome)?,
                    };
                    return Ok(Path { steps, end });
                }
                FlowControl::Call | FlowControl::IndirectCall => return Err(Why::Calls),
                _ => return Err(Why::Instruction),
            }
            if steps.len() > STEPS {
                return Err(Why::Long);
            }
            at = ins.next_ip();
        }
    }

    /// Whether a conditional branch is taken, if that is known.
    fn branch(&self, ins: &Instruction, state: &State) -> Result<Option<bool>, Why> {
        if ins.condition_code() == ConditionCode::None || !ins.is_jcc_short_or_near() {
            return Err(Why::Instruction);
        }
        match state.flags {
            CpuFlags::Known(flags) => Ok(Some(holds(condition(ins), flags))),
            CpuFlags::There(valid) if ins.rflags_read() & !valid == RflagsBits::NONE => Ok(None),
            CpuFlags::There(_) => Err(Why::Instruction),
        }
    }

    /// Both ways behind a branch. One that cannot be lifted calls the routine.
    fn both(&mut self, ins: &Instruction, state: &State, mut left: Left) -> Result<End, Why> {
        left.branches = left.branches.checked_sub(1).ok_or(Why::Long)?;
        let called = Path {
            steps: Vec::new(),
            end: End::Call,
        };
        let mut way = |start| self.path(start, state.clone(), left);
        let (taken, other) = (way(ins.near_branch_target()), way(ins.next_ip()));
        let (taken, other) = match (taken, other) {
            (Ok(taken), Ok(other)) => (taken, other),
            (Err(why), _) | (_, Err(why)) if state.stored => return Err(why),
            (Ok(taken), Err(_)) => (taken, called),
            (Err(_), Ok(other)) => (called, other),
            (Err(why), Err(_)) => return Err(why),
        };
        Ok(End::If(Box::new(Branch {
            condition: condition(ins),
            flags: ins.rflags_read(),
            taken,
            other,
        })))
    }

    fn step(&self, ins: &Instruction, state: &mut State, steps: &mut Vec<Step>) -> Result<(), Why> {
        crate::step::Stepper {
            code: self.code,
            state,
            steps,
        }
        .step(ins)
    }
}

/// The condition of a conditional jump, as its opcode has it.
pub(crate) fn condition(ins: &Instruction) -> u8 {
    // (The decoder's conditions begin with "none".)
    (ins.condition_code() as u8).wrapping_sub(1)
}
