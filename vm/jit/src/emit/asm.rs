//! The assembler that `dynasm!` writes to: a byte buffer.
//!
//! The macro needs the method names below and nothing of its (std-only) runtime.

use alloc::vec::Vec;

/// Code bytes of one section.
#[derive(Debug, Default)]
pub(crate) struct Asm(Vec<u8>);

impl Asm {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Offset of the next byte.
    pub(crate) fn here(&self) -> u32 {
        self.0.len() as u32
    }

    /// The finished bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Aims the short branch that ends at `end` at the next byte.
    pub(crate) fn land(&mut self, end: u32) {
        let distance = self.here() - end;
        assert!(distance < 0x80, "a short branch");
        self.0[end as usize - 1] = distance as u8;
    }

    /// The same for a branch with a distance of 32 bits.
    pub(crate) fn land_near(&mut self, end: u32) {
        let distance = self.here() - end;
        let field = end as usize - 4..end as usize;
        self.0[field].copy_from_slice(&distance.to_le_bytes());
    }

    /// Called by `dynasm!`.
    pub(crate) fn push(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Called by `dynasm!`.
    pub(crate) fn push_i8(&mut self, value: i8) {
        self.0.push(value.cast_unsigned());
    }

    /// Called by `dynasm!`.
    pub(crate) fn push_i32(&mut self, value: i32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Called by `dynasm!`.
    pub(crate) fn push_i64(&mut self, value: i64) {
        self.bytes(&value.to_le_bytes());
    }

    /// `nop`s of `count` bytes, as few instructions as may be.
    pub(crate) fn nops(&mut self, count: u32) {
        const NOPS: [&[u8]; 4] = [&[], &[0x90], &[0x66, 0x90], &[0x0f, 0x1f, 0x00]];
        for _ in 0..count / 3 {
            self.bytes(NOPS[3]);
        }
        self.bytes(NOPS[count as usize % 3]);
    }

    /// Fills up with `int3`, which is never executed, to a multiple of `unit`.
    pub(crate) fn align(&mut self, unit: usize) {
        let len = self.0.len().next_multiple_of(unit);
        self.0.resize(len, 0xcc);
    }
}

/// Called by `dynasm!`, with the constant bytes of an instruction.
impl<'a> Extend<&'a u8> for Asm {
    fn extend<I: IntoIterator<Item = &'a u8>>(&mut self, bytes: I) {
        self.0.extend(bytes);
    }
}
