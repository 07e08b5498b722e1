//! What can be inserted, and what is refused.

use crate::register::Reg;
use crate::state::StateId;
use core::fmt;

/// Where an insertion stands relative to its instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IPoint {
    /// Before it.
    Before,
    /// Behind it, on the way to the following instruction. For a conditional
    /// branch: if it is not taken. Refused for what never goes on to the next one
    /// (jumps, calls, returns) and for system calls.
    After,
    /// On the way to the target of a direct branch. For jumps and calls, which are always taken,
    /// that is before them; for conditional branches, only if they are taken.
    TakenBranch,
    /// Wherever in its block it costs least, for calls whose arguments are the same everywhere in
    /// it. If a fault or a signal ends the block early, the call may have been made or not.
    Anywhere,
}

/// A counter, of 64 bits, one per thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Counter {
    /// One for the whole process, of as many as [`crate::Tool::global_counters`] says.
    Global(u32),
    /// One for each image, of as many as [`crate::Tool::image_counters`] says;
    /// that of the image which holds the instruction.
    Image(u32),
}

/// Most that one insertion may add.
pub const MAX_AMOUNT: u32 = 1 << 20;

/// Index into [`crate::Tool::routines`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RoutineId(pub u16);

/// An argument of an analysis call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg {
    /// A number.
    Const(u64),
    /// App address of the instruction.
    InsAddr,
    /// App address of the instruction behind it.
    NextAddr,
    /// App value of a register.
    Reg(Reg),
    /// Address of memory operand `n` (see [`crate::Ins::memory_operands`]); only
    /// before the instruction.
    MemoryEa(usize),
    /// Bytes that memory operand `n` covers.
    MemorySize(usize),
    /// Target of a direct branch, taken or not.
    BranchTarget,
    /// Number of the thread.
    ThreadId,
    /// The running thread's copy of a state.
    State(StateId),
}

/// Why an insertion was not made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The instruction has no such place (see [`IPoint`]).
    Point,
    /// Not on the way that only a taken conditional branch passes: results that are stored or lead the
    /// program away.
    TakenSide,
    /// The counter's index is beyond what there is.
    Counter,
    /// The amount is 0 or above [`MAX_AMOUNT`].
    Amount,
    /// No such routine.
    Routine,
    /// No such buffer.
    Buffer,
    /// Not one argument for each field of the record.
    Fields,
    /// More or fewer arguments than the routine takes.
    Arguments,
    /// An argument does not fit the type of its parameter.
    Type,
    /// No such state, or it is passed twice.
    State,
    /// The instruction has no such memory operand, or its address cannot be
    /// computed there (vector-indexed, or behind the instruction).
    Operand,
    /// The instruction has no direct target within reach.
    Target,
    /// The routine returns nothing that could decide, or be put anywhere.
    Result,
    /// The stack pointer gets no value of a routine.
    StackPointer,
    /// A result is stored at no such address, or not in so many bytes.
    Address,
    /// Whether the instruction does its work cannot be told there: behind it, or by a mask.
    Predicate,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Point => "the instruction has no such insertion point",
            Self::TakenSide => {
                "on the taken side of a conditional branch no result is stored or leads away"
            }
            Self::Counter => "there is no such counter",
            Self::Amount => "the amount is zero or too large",
            Self::Routine => "there is no such analysis routine",
            Self::Buffer => "there is no such buffer",
            Self::Fields => "a record takes one argument for each of its fields",
            Self::Arguments => "the routine takes another number of arguments",
            Self::Type => "an argument does not fit its parameter",
            Self::State => "there is no such state, or it is passed twice",
            Self::Operand => "the memory operand's address cannot be had there",
            Self::Target => "the instruction has no direct target within reach",
            Self::Predicate => "whether the instruction does its work cannot be told there",
            Self::Result => "the routine is no plain function with a result",
            Self::StackPointer => "a routine cannot change the stack pointer",
            Self::Address => {
                "a result is stored in 1, 2, 4 or 8 bytes at an address of the program"
            }
        })
    }
}

impl core::error::Error for Refused {}
