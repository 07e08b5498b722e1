//! What a tool inserts.

use super::{AddressRow, AppendRow, Slice, This};

/// Takes what was granted, in order.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Inserter {
    /// The list.
    pub this: This,
    /// A count.
    pub count: extern "C" fn(this: This, row: &CountRow),
    /// A call.
    pub call: extern "C" fn(this: This, row: &CallRow<'_>),
    /// A record.
    pub append: extern "C" fn(this: This, row: &AppendRow<'_>),
}

/// A count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct CountRow {
    /// Index of the instruction.
    pub ins: u32,
    /// Number of the counter.
    pub counter: u32,
    /// How much is added.
    pub amount: u32,
    /// Whether the counter is one of each image.
    pub of_image: bool,
    /// Whether it is made behind the instruction.
    pub after: bool,
    /// Whether that is where the branch leads.
    pub taken: bool,
}

/// A call.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CallRow<'a> {
    /// Index of the instruction.
    pub ins: u32,
    /// Number of the routine.
    pub routine: u16,
    /// Whether it is made behind the instruction.
    pub after: bool,
    /// Whether that is where the branch leads.
    pub taken: bool,
    /// Whether it may be made anywhere in the block.
    pub anywhere: bool,
    /// Whether it is made only if the instruction does its work.
    pub predicated: bool,
    /// Whether a routine decides about it.
    pub decided: bool,
    /// Number of that routine.
    pub decider: u16,
    /// What the result becomes (`Destination::number`); [`super::NO_REGISTER`]: nothing.
    pub into: u8,
    /// Where it is stored, if it is.
    pub address: ValueRow,
    /// The arguments.
    pub args: Slice<'a, ValueRow>,
    /// Those of the routine that decides.
    pub decider_args: Slice<'a, ValueRow>,
}

/// An argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct ValueRow {
    /// One of [`value`].
    pub kind: u32,
    /// A number, an image offset or the number of a register.
    pub number: u64,
    /// An address.
    pub address: AddressRow,
}

/// Kinds of arguments.
pub mod value {
    /// The number.
    pub const CONST: u32 = 0;
    /// The app address of the image offset.
    pub const APP: u32 = 1;
    /// The app value of the register.
    pub const REG: u32 = 2;
    /// The address.
    pub const MEMORY: u32 = 3;
    /// The number of the thread.
    pub const THREAD: u32 = 4;
    /// The address of the thread's copy of the state with the number.
    pub const STATE: u32 = 5;
}
