//! All that a tool usually names: `use ppin_sdk::prelude::*`.

pub use alloc::boxed::Box;
pub use alloc::string::String;
pub use alloc::vec::Vec;
pub use core::fmt::{self, Write as _};
pub use ppin_api::{
    About, Access, Address, AppPc, Arg, Bbl, Buffer, BufferId, Call, Category, Counter, Counters,
    FileError, FileId, Files, Format, Host, IPoint, ImageBase, ImageId, ImageInfo, ImageOff,
    Images, Ins, Knob, MAX_AMOUNT, MemoryOperand, Merge, OPCODES, Opcode, Predicate, Program,
    Record, Refused, Reg, Report, Routine, RoutineFn, RoutineId, Segment, State, StateId, States,
    ThreadId, ThreadInfo, Threads, Tool, Trace,
};
