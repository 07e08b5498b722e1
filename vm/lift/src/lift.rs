//! From a routine and what is known of its arguments to a body.

use crate::body::{End, Path, Step, Why};
use crate::prune::prune;
use crate::registers::ARGUMENTS;
use crate::values::{State, Value};
use crate::walk::Walker;
use ppin_api::Outcome;
use ppin_api::compiler::CodeBytes;

/// What is known of an argument.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Known {
    /// It is a number.
    Number(u64),
    /// It is the address of a state.
    State,
    /// Nothing.
    Nothing,
}

/// What a routine is lifted for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// For what it does; its result, if it has one, is dropped.
    Deeds,
    /// Also for whether its result is 0: if not, it ends with [`End::Then`].
    Decision(Outcome),
}

/// A lifted routine.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its code.
    pub path: Path,
    /// The virtual registers that it uses, by a bit for each.
    pub registers: u16,
    /// Those of them that must be the registers that they are named after.
    pub fixed: u16,
    /// It changes the arithmetic flags.
    pub flags: bool,
}

/// Most virtual registers of a body.
const REGISTERS: u32 = 6;

/// Lifts the routine at `routine`.
///
/// # Errors
/// Why it is to be called instead.
pub fn lift(
    code: &dyn CodeBytes,
    routine: u64,
    arguments: &[Known],
    wanted: Wanted,
) -> Result<Body, Why> {
    let mut state = State::at_entry();
    let mut steps = alloc::vec::Vec::new();
    for (index, (known, to)) in (0..).zip(arguments.iter().zip(ARGUMENTS)) {
        let value = match known {
            Known::Number(value) => Value::number(*value),
            Known::State => Value::Dynamic { pointer: true },
            Known::Nothing => Value::Dynamic { pointer: false },
        };
        if matches!(value, Value::Dynamic { .. }) {
            steps.push(Step::Argument { to, index });
        }
        state.registers[usize::from(to)] = value;
    }
    let mut path = Walker::new(code, wanted).walk(routine, state)?;
    steps.append(&mut path.steps);
    path.steps = steps;
    prune(&mut path);
    if path.steps.is_empty() && matches!(path.end, End::Call) {
        return Err(Why::Calls);
    }
    let mut body = Body {
        path,
        registers: 0,
        fixed: 0,
        flags: false,
    };
    let mut path = core::mem::replace(
        &mut body.path,
        Path {
            steps: alloc::vec::Vec::new(),
            end: End::Done,
        },
    );
    body.sum_up(&mut path, routine);
    body.path = path;
    if body.registers.count_ones() > REGISTERS {
        return Err(Why::Registers);
    }
    Ok(body)
}

impl Body {
    /// Collects what `path` uses; addresses in it become distances from `routine`.
    fn sum_up(&mut self, path: &mut Path, routine: u64) {
        for step in &mut path.steps {
            match step {
                Step::Argument { to, .. } | Step::Set { to, .. } => self.registers |= 1 << *to,
                Step::Object { to, offset } => {
                    *offset = offset.wrapping_sub_unsigned(routine);
                    self.registers |= 1 << *to;
                }
                Step::Ins(ins) => {
                    self.registers |= ins.reads | ins.writes;
                    self.fixed |= ins.fixed;
                    self.flags |= ins.writes_flags != 0;
                }
            }
        }
        if let End::If(branch) = &mut path.end {
            self.sum_up(&mut branch.taken, routine);
            self.sum_up(&mut branch.other, routine);
        }
    }
}
