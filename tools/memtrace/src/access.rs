//! Accesses, as they lie in buffers and in files of the binary format ([FORMAT.md](../FORMAT.md)).

use ppin_sdk::prelude::*;

ppin_sdk::record! {
    /// An access to memory, by an instruction that may repeat it.
    pub struct Access {
        /// The instruction.
        pub pc: u64,
        /// What it accesses first.
        pub address: u64,
        /// A [`What`].
        pub what: u32,
        /// How often it is repeated at most, if it is.
        pub count: u32,
    }
}

/// What is known of an access when its code is translated.
///
/// ```text
/// bit 0: reads   bit 1: writes   bit 2: repeated   bit 3: may end early   bits 4 to 31: bytes
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct What(pub u32);

const READS: u32 = 1;
const WRITES: u32 = 1 << 1;
const REPEATED: u32 = 1 << 2;
const ENDS_EARLY: u32 = 1 << 3;
const SIZE: u32 = 4;

impl What {
    pub fn of(operand: &MemoryOperand, repeated: bool, ends_early: bool) -> Self {
        let bit = |is, bit| if is { bit } else { 0 };
        let reads = bit(operand.access.reads(), READS);
        let writes = bit(operand.access.writes(), WRITES);
        let repeated = bit(repeated, REPEATED) | bit(repeated && ends_early, ENDS_EARLY);
        Self(operand.size << SIZE | reads | writes | repeated)
    }

    const fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }
}

impl Access {
    /// Whether there was one: not if it was repeated zero times.
    pub const fn happened(&self) -> bool {
        self.count != 0 || !What(self.what).has(REPEATED)
    }

    /// Bytes that it covers.
    fn size(&self) -> u64 {
        let what = What(self.what);
        let size = u64::from(self.what >> SIZE);
        match (what.has(REPEATED), what.has(ENDS_EARLY)) {
            (true, false) => size * u64::from(self.count),
            _ => size,
        }
    }

    /// Writes its lines.
    pub fn lines(&self, out: &mut String) -> fmt::Result {
        let Self { pc, address, .. } = self;
        for (bit, letter) in [(READS, 'R'), (WRITES, 'W')] {
            if self.happened() && What(self.what).has(bit) {
                writeln!(out, "{pc:#x}: {letter} {address:#x} {}", self.size())?;
            }
        }
        Ok(())
    }
}
