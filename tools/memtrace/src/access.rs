//! What is known of an access beside its addresses, in one word.
//!
//! ```text
//! bit 0: reads   bit 1: writes   bits 2 to 63: bytes
//! ```

use ppin_sdk::prelude::*;

const READS: u64 = 1;
const WRITES: u64 = 2;
const SIZE: u32 = 2;

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind(u64);

impl Kind {
    pub fn of(operand: &MemoryOperand) -> Self {
        let bit = |is, bit| if is { bit } else { 0 };
        let reads = bit(operand.access.reads(), READS);
        let writes = bit(operand.access.writes(), WRITES);
        Self(u64::from(operand.size) << SIZE | reads | writes)
    }

    pub const fn from_word(word: u64) -> Self {
        Self(word)
    }

    pub const fn word(self) -> u64 {
        self.0
    }

    const fn size(self) -> u64 {
        self.0 >> SIZE
    }

    /// `count` of it, side by side.
    pub const fn repeated(self, count: u64) -> Self {
        let access = self.0 & (READS | WRITES);
        Self(self.size().wrapping_mul(count) << SIZE | access)
    }

    /// Writes its lines.
    pub fn write(self, out: &mut String, pc: u64, address: u64) -> fmt::Result {
        for (bit, letter) in [(READS, 'R'), (WRITES, 'W')] {
            if self.0 & bit != 0 {
                writeln!(out, "{pc:#x}: {letter} {address:#x} {}", self.size())?;
            }
        }
        Ok(())
    }
}
