//! What a lifted routine is: straight pieces of code, joined by forward branches.
//!
//! Registers are virtual, and have the names of those that the routine's machine code uses.

use alloc::boxed::Box;
use alloc::vec::Vec;
use iced_x86::Instruction;

/// A virtual register, by the hardware number of the one that it is named after.
pub type Virtual = u8;

/// One step of a body.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// `to` = an argument of the call, by its place.
    Argument {
        /// The register.
        to: Virtual,
        /// The argument.
        index: u8,
    },
    /// `to` = a number.
    Set {
        /// The register.
        to: Virtual,
        /// The number.
        value: u64,
    },
    /// `to` = an address in the object that holds the routine, from the routine's own.
    Object {
        /// The register.
        to: Virtual,
        /// The distance.
        offset: i64,
    },
    /// An instruction of the routine.
    Ins(Lifted),
}

/// An instruction on virtual registers.
#[derive(Clone, Copy, Debug)]
pub struct Lifted {
    /// The instruction.
    pub ins: Instruction,
    /// Registers that it reads, by a bit for each.
    pub reads: u16,
    /// Registers that it writes. What it writes in part, it reads, too.
    pub writes: u16,
    /// Registers that must be those that they are named after.
    pub fixed: u16,
    /// Arithmetic flags that it uses.
    pub reads_flags: u32,
    /// Arithmetic flags that it changes.
    pub writes_flags: u32,
    /// It changes them for certain.
    pub surely: bool,
    /// It writes to memory.
    pub stores: bool,
}

/// A straight piece, and how it ends.
#[derive(Clone, Debug)]
pub struct Path {
    /// Its steps.
    pub steps: Vec<Step>,
    /// Its end.
    pub end: End,
}

impl Path {
    /// Whether some way through it ends with [`End::Done`].
    #[must_use]
    pub fn is_ever_done(&self) -> bool {
        match &self.end {
            End::Done => true,
            End::Then | End::Call => false,
            End::If(branch) => branch.taken.is_ever_done() || branch.other.is_ever_done(),
        }
    }
}

/// How a piece ends.
#[derive(Clone, Debug)]
pub enum End {
    /// The routine returns; if it decides, it says no.
    Done,
    /// It returns, and says yes.
    Then,
    /// Rare: the routine is to be called instead. Nothing has been written to memory.
    Call,
    /// It goes on in one of two ways.
    If(Box<Branch>),
}

/// A conditional branch.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The condition, as its opcode has it: the low bit negates it.
    pub condition: u8,
    /// The flags that it looks at.
    pub flags: u32,
    /// If it holds.
    pub taken: Path,
    /// Else.
    pub other: Path,
}

/// Why a routine is called instead of inlined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// Its code cannot be read.
    Unreadable,
    /// More code than is worth it, or a loop.
    Long,
    /// An instruction that cannot stand in other code.
    Instruction,
    /// A jump or call whose target is not known.
    Indirect,
    /// It always calls a function, or calls one after it has written to memory.
    Calls,
    /// It uses its stack for more than keeping values.
    Stack,
    /// It looks at memory that it has only the address of.
    Memory,
    /// More values are alive at once than registers can be lent.
    Registers,
    /// Its result is put into a register of the program.
    Result,
}

impl Why {
    /// The reason in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unreadable => "its code cannot be read",
            Self::Long => "it is long, or has a loop",
            Self::Instruction => "it has an instruction that cannot be moved",
            Self::Indirect => "it has a jump to an unknown target",
            Self::Calls => "it calls a function on its usual way",
            Self::Stack => "it passes on addresses of its stack",
            Self::Memory => "it follows an address that it got as a number",
            Self::Registers => "it needs many registers",
            Self::Result => "its result changes a register",
        }
    }
}
