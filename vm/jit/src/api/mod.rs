//! The tool API: Pin's model in Rust.
//!
//! A [`Tool`] looks at every trace once, when it is translated
//! ([`Tool::instrument`]), and says what is to be counted or called there. What
//! it inserted becomes part of the translated code, which may be kept in the
//! database and run by later processes without asking the tool again. So
//! instrumentation must be a pure function of the trace and the knobs: it gets
//! `&self` and no access to the running process. What the program *does* is seen
//! by counters and by analysis [`Routine`]s, and told by the callbacks.
//!
//! Everything a tool asks for and cannot have is refused by a [`Refused`] value;
//! nothing is dropped in silence.

mod host;
mod insert;
mod opcode;
mod operand;
mod tool;
mod trace;

pub use host::{FileError, FileId, Format, Host, ImageId, ImageInfo, Report, ThreadId, ThreadInfo};
pub use insert::{Arg, Counter, IPoint, MAX_AMOUNT, Refused, RoutineId};
pub(crate) use insert::{CallInsertion, CountInsertion, Insertions};
pub use opcode::{OPCODES, Opcode};
pub use operand::{Access, MemoryOperand, Reg};
pub(crate) use operand::{address_arg, plain_arg};
pub use tool::{Call, Knob, Routine, RoutineFn, Tool};
pub use trace::{Bbl, Category, Ins, Trace};
