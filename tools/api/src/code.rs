//! The machine code of a tool.

/// Memory that holds a tool's code and constants.
pub trait CodeBytes: Sync {
    /// Copies what lies at `address` to `buffer`, if it is code; the number of bytes, fewer than
    /// wanted where the code ends.
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize;

    /// The same, of code and constants: what nobody ever changes, and what does not depend on where
    /// the tool lies.
    fn constant(&self, address: u64, buffer: &mut [u8]) -> usize;

    /// The address in the word at `place`, if that names code and nobody ever changes it.
    fn link(&self, place: u64) -> Option<u64>;
}
