//! What crosses the door: `repr(C)` data and functions, a file for each subject.
//!
//! The `this` of a function is the `this` of its table; see the crate for what holds of pointers.

mod buffer;
mod code;
mod door;
mod host;
mod insertion;
mod report;
mod services;
mod slice;
mod state;

pub use buffer::{AppendRow, BufferRow, FieldRow, PartRow};
pub use code::{AddressRow, Code, InsRow, NO_REGISTER, OperandRow};
pub use door::{Door, Functions, KnobRow, Pair, RoutineRow, knob_rows, parameter};
pub use host::{Host, HostFunctions, ImageRow, ThreadRow};
pub use insertion::{CallRow, CountRow, Inserter, ValueRow, value};
pub use report::Report;
pub use services::Services;
pub use slice::{Each, Row, Slice, Text};
pub use state::{CopyRow, StateFunctions, StateRow};

use core::ffi::c_void;

/// A pointer that only its own side looks behind.
pub type This = *const c_void;
