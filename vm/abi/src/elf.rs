//! The headers of ELF files (elf(5)), little-endian, as they lie in a file: the one place that
//! knows their offsets.

/// How every ELF file begins.
pub const MAGIC: &[u8; 4] = b"\x7fELF";
/// Length of the file header of 64-bit files.
pub const HEADER: usize = 64;
/// Length of a program header of 64-bit files.
pub const PROGRAM_HEADER: usize = 56;

/// 32-bit file.
pub const CLASS_32: u8 = 1;
/// 64-bit file.
pub const CLASS_64: u8 = 2;
/// Little-endian file.
pub const LITTLE: u8 = 1;
/// Version of the format; there is no other.
pub const VERSION: u8 = 1;
/// A program at a fixed address.
pub const EXEC: u16 = 2;
/// A library, or a program at any address.
pub const DYN: u16 = 3;
/// For 32-bit x86.
pub const X86: u16 = 3;
/// For x86-64.
pub const X86_64: u16 = 62;
/// Type of a segment that is loaded.
pub const PT_LOAD: u32 = 1;
/// Type of a segment that holds the path of the interpreter.
pub const PT_INTERP: u32 = 3;
/// Type of a segment that holds notes.
pub const PT_NOTE: u32 = 4;
/// Type of a segment that holds the program headers.
pub const PT_PHDR: u32 = 6;
/// Type of a segment that says by its flags what rights the stack has.
pub const PT_GNU_STACK: u32 = 0x6474_e551;
/// Type of a segment that is made read-only once it has been relocated.
pub const PT_GNU_RELRO: u32 = 0x6474_e552;
/// Flag of a segment that is executable.
pub const PF_X: u32 = 1;
/// Flag of a segment that is writable.
pub const PF_W: u32 = 2;

/// The file header, as far as ppin needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// `CLASS_*`.
    pub class: u8,
    /// [`LITTLE`] or not.
    pub data: u8,
    /// [`VERSION`].
    pub version: u8,
    /// [`EXEC`], [`DYN`] or another type.
    pub kind: u16,
    /// Kind of processor.
    pub machine: u16,
    /// Address of the first instruction.
    pub entry: u64,
    /// Where the program headers begin.
    pub table: u64,
    /// Length of each.
    pub row: u16,
    /// How many there are.
    pub rows: u16,
}

impl Header {
    /// Reads it from the first [`HEADER`] bytes or more of a file; `None` if they are fewer, or do
    /// not begin an ELF file. What it says of a 32-bit file beyond `machine` means nothing.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes
            .get(..HEADER)
            .filter(|bytes| bytes.starts_with(MAGIC))?;
        Some(Self {
            class: bytes[4],
            data: bytes[5],
            version: bytes[6],
            kind: u16_at(bytes, 16)?,
            machine: u16_at(bytes, 18)?,
            entry: u64_at(bytes, 24)?,
            table: u64_at(bytes, 32)?,
            row: u16_at(bytes, 54)?,
            rows: u16_at(bytes, 56)?,
        })
    }

    /// Whether it is a 64-bit file for x86-64.
    #[must_use]
    pub const fn is_x86_64(&self) -> bool {
        self.class == CLASS_64 && self.data == LITTLE && self.machine == X86_64
    }
}

/// A program header of a 64-bit file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgramHeader {
    /// `PT_*`.
    pub kind: u32,
    /// `PF_*`.
    pub flags: u32,
    /// In the file.
    pub offset: u64,
    /// As linked.
    pub address: u64,
    /// Bytes in the file.
    pub len: u64,
    /// Bytes in memory.
    pub memory: u64,
}

impl ProgramHeader {
    /// Reads it from the first [`PROGRAM_HEADER`] bytes of `row`.
    #[must_use]
    pub fn read(row: &[u8]) -> Option<Self> {
        Some(Self {
            kind: u32_at(row, 0)?,
            flags: u32_at(row, 4)?,
            offset: u64_at(row, 8)?,
            address: u64_at(row, 16)?,
            len: u64_at(row, 32)?,
            memory: u64_at(row, 40)?,
        })
    }

    /// Whether it is a segment of code.
    #[must_use]
    pub const fn is_code(&self) -> bool {
        self.kind == PT_LOAD && self.flags & PF_X != 0
    }
}

/// The number of two bytes at `at`.
#[must_use]
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The number of four bytes at `at`.
#[must_use]
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The number of eight bytes at `at`.
#[must_use]
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_and_cut_ones_are_not() {
        let mut bytes = [0; HEADER];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        (bytes[16], bytes[18], bytes[24], bytes[56]) = (3, 62, 7, 9);
        let header = Header::read(&bytes).unwrap();
        assert!(header.is_x86_64());
        assert_eq!((header.kind, header.entry, header.rows), (DYN, 7, 9));
        assert_eq!(Header::read(&bytes[..63]), None);
        bytes[0] = 0;
        assert_eq!(Header::read(&bytes), None);
    }

    #[test]
    fn a_number_beyond_the_end_is_none() {
        assert_eq!(u32_at(&[1, 2, 3, 4], 0), Some(0x0403_0201));
        assert_eq!(u32_at(&[1, 2, 3, 4], 1), None);
        assert_eq!(u64_at(&[0; 8], usize::MAX), None);
    }
}
