//! What a tool sees: Pin's model in Rust.
//!
//! A [`Tool`] looks at every trace once, when it is translated ([`Tool::instrument`]), and says
//! what is to be counted or called there. What it inserted becomes part of the translated code,
//! which may be kept in the database and run by later processes without asking the tool again.
//! So instrumentation must be a pure function of the trace and the knobs: it gets `&self` and
//! no access to the running process. What the program *does* is seen by counters and by
//! analysis [`Routine`]s, and told by the callbacks.
//!
//! A request that cannot be granted is refused by a [`Refused`] value; nothing is dropped in
//! silence.
//!
//! ```text
//! tool, about, knob        what an author writes: callbacks, description, options
//! routine, function, state analysis routines, and what they collect
//! buffer                   records that translated code appends, and their fields
//! view/                    the code that is being translated: trace, block, instruction
//! opcode, register, operand   parts of an instruction
//! insert                   what can be inserted where, and what is refused
//! host/                    the process around the tool, a service for each subject
//! report                   where the result goes
//! source, insertions       the compiler's side ([`compiler`])
//! ```
//!
//! # Walls
//! No compiler and no operating system is in here. The compiler fills the views through
//! [`compiler::Source`] and takes the insertions as plain data; the engine implements
//! [`Host`]. All that passes between a tool and its surroundings is plain data, or a trait
//! without generic methods: each is a table of functions for a tool that is loaded at run
//! time (`ppin-door`).
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod about;
mod buffer;
mod code;
mod function;
mod host;
mod insert;
mod insertions;
mod knob;
mod opcode;
mod operand;
mod register;
mod report;
mod routine;
mod source;
mod state;
mod tool;
mod view;

pub use about::About;
pub use buffer::{Buffer, BufferId, Field, MAX_BUFFERS, Record, Word};
pub use function::{Function, Outcome, Parameter, Parameters, Returned, Scalar};
pub use host::{
    Counters, FileError, FileId, Files, Host, ImageId, ImageInfo, Images, Program, States,
    ThreadId, ThreadInfo, Threads,
};
pub use insert::{Arg, Counter, IPoint, MAX_AMOUNT, Refused, RoutineId};
pub use knob::Knob;
pub use opcode::{OPCODES, Opcode};
pub use operand::{Access, Address, MemoryOperand, Segment};
pub use ppin_abi::addr::{AppPc, ImageBase, ImageOff};
pub use ppin_abi::area::{MAX_ROUTINES, MAX_STATES};
pub use ppin_abi::counters::GLOBAL_COUNTERS;
pub use register::Reg;
pub use report::{Format, Report};
pub use routine::{AnyFunction, Call, Routine, RoutineFn};
pub use source::{Category, Predicate};
pub use state::{Merge, State, StateCopy, StateId, StateKind};
pub use tool::Tool;
pub use view::{Bbl, If, Ins, Trace};

/// The other side of the views: what a compiler hands to a tool, and what it gets back.
pub mod compiler {
    pub use crate::code::CodeBytes;
    pub use crate::insertions::{
        AppendInsertion, CallInsertion, Condition, CountInsertion, Destination, Insertions, Value,
    };
    pub use crate::opcode::NAMES as OPCODE_NAMES;
    pub use crate::source::Source;
    pub use crate::view::{Code, Limits};

    /// What records are written to.
    pub type Bytes = alloc::vec::Vec<u8>;
}
