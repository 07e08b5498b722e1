//! All that a tool usually names: `use ppin_sdk::prelude::*`.

pub use alloc::boxed::Box;
pub use alloc::string::String;
pub use alloc::vec::Vec;
pub use core::fmt::{self, Write as _};
pub use ppin_abi::addr::{AppPc, ImageBase, ImageOff};
pub use ppin_jit::api::{
    Access, Arg, Bbl, Call, Category, Counter, FileError, FileId, Format, Host, IPoint, ImageId,
    ImageInfo, Ins, Knob, MAX_AMOUNT, MemoryOperand, OPCODES, Opcode, Refused, Reg, Report,
    Routine, RoutineFn, RoutineId, ThreadId, ThreadInfo, Tool, Trace,
};
