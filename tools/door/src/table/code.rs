//! The code that a tool looks at.

use super::{Each, Row, This};

/// The instructions of a trace.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Code {
    /// The trace.
    pub this: This,
    /// Number of instructions.
    pub count: usize,
    /// Base of the image.
    pub image: u64,
    /// Whether the first block is the rest of one that an earlier trace began.
    pub continues: bool,
    /// Tells all instructions, in order, each once.
    pub ins: extern "C" fn(this: This, each: Each<InsRow>),
    /// Tells its memory operands, in order.
    pub operands: extern "C" fn(this: This, index: usize, each: Each<OperandRow>),
}

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct InsRow {
    /// App address.
    pub pc: u64,
    /// Target of a direct branch or call, if [`Self::TARGET`].
    pub target: u64,
    /// Length in bytes.
    pub len: u32,
    /// Number of its opcode.
    pub opcode: u32,
    /// Number of its category, in the order of their declaration.
    pub category: u32,
    /// The bits below.
    pub flags: u32,
}

impl InsRow {
    /// There is a target.
    pub const TARGET: u32 = 1;
    /// Control may go on behind it.
    pub const FALLS_THROUGH: u32 = 2;
    /// A string instruction that repeats.
    pub const REPEATED: u32 = 4;
    /// It does its work only if flags or a count say so.
    pub const TOLD: u32 = 8;
    /// It does its work only where a mask says so.
    pub const MASKED: u32 = 16;
}

/// A memory operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct OperandRow {
    /// 1: read, 2: written, 3: both.
    pub access: u32,
    /// Bytes.
    pub size: u32,
    /// Happens only under a condition.
    pub conditional: bool,
    /// There is an address.
    pub has_address: bool,
    /// The address.
    pub address: AddressRow,
}

impl Row for InsRow {
    type Lent<'a> = Self;
}

impl Row for OperandRow {
    type Lent<'a> = Self;
}

/// In place of a register's number: none.
pub const NO_REGISTER: u8 = 0xff;

/// How an address is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct AddressRow {
    /// Whether it is the image offset `displacement`, and nothing else.
    pub in_image: bool,
    /// Whether it has 32 bits.
    pub narrow: bool,
    /// 0: none, 1: fs, 2: gs.
    pub segment: u8,
    /// Base register.
    pub base: u8,
    /// Index register.
    pub index: u8,
    /// Binary logarithm of what the index is multiplied by.
    pub scale: u8,
    /// Displacement.
    pub displacement: u64,
}
