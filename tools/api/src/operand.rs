//! Memory operands.

use crate::register::Reg;
use ppin_abi::addr::ImageOff;

/// What an instruction does with a memory operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Reads, then writes it.
    ReadWrite,
}

impl Access {
    /// Whether the operand is read.
    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    /// Whether the operand is written.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }
}

/// A place in memory that an instruction reads or writes, stack and string
/// operands included. Of a REP-prefixed instruction: the first element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryOperand {
    /// What is done with it.
    pub access: Access,
    /// Bytes, 0 if that is known only at run time (`xsave` and the like).
    pub size: u32,
    /// Whether it happens only under a condition (mask, REP count, `cmov`).
    pub conditional: bool,
    /// How to compute the address, `None` if that cannot be had.
    pub address: Option<Address>,
}

impl MemoryOperand {
    /// Whether [`crate::Arg::MemoryEa`] can be had for it.
    #[must_use]
    pub const fn has_address(&self) -> bool {
        self.address.is_some()
    }
}

/// A segment whose base is not 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Segment {
    /// fs.
    Fs,
    /// gs.
    Gs,
}

/// How the address of a memory operand is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Address {
    /// A fixed place in the image, or at a fixed distance from it (rip-relative).
    Image(ImageOff),
    /// The sum of what is there (SDM volume 1, 3.7.5), modulo 2^32 if `narrow`, and the
    /// segment's base.
    Sum {
        /// Segment.
        segment: Option<Segment>,
        /// Base register.
        base: Option<Reg>,
        /// Index register.
        index: Option<Reg>,
        /// Binary logarithm of what the index is multiplied by.
        scale: u8,
        /// Displacement, sign-extended.
        displacement: u64,
        /// Whether the instruction computes addresses of 32 bits.
        narrow: bool,
    },
}
