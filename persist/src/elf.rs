//! The program headers of ELF-64 files (elf(5)): little-endian, as they lie in a file.

use core::ops::Range;

/// Type of a segment that is loaded.
pub(crate) const PT_LOAD: u32 = 1;
/// Type of a segment that holds notes.
pub(crate) const PT_NOTE: u32 = 4;
/// Flag of a segment that is executable.
pub(crate) const PF_X: u32 = 1;
/// Length of one header.
pub(crate) const HEADER: usize = 56;

/// Longest table that is read.
const LONGEST: usize = 1 << 16;

/// A program header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProgramHeader {
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
}

impl ProgramHeader {
    fn read(row: &[u8]) -> Option<Self> {
        Some(Self {
            kind: u32_at(row, 0)?,
            flags: u32_at(row, 4)?,
            offset: u64_at(row, 8)?,
            address: u64_at(row, 16)?,
            len: u64_at(row, 32)?,
        })
    }

    /// Whether it is a segment of code.
    pub(crate) const fn is_code(&self) -> bool {
        self.kind == PT_LOAD && self.flags & PF_X != 0
    }
}

/// Where the file that begins with `head` (64 bytes or more) has its program headers; `None` if
/// it is no program or library for x86-64.
pub(crate) fn table(head: &[u8]) -> Option<Range<u64>> {
    let ident = head.get(..20)?;
    let x86_64 = ident.starts_with(b"\x7fELF\x02\x01") && ident[18..20] == [62, 0];
    let (start, count) = (u64_at(head, 32)?, usize::from(u16_at(head, 56)?));
    let len = count * HEADER;
    let usual = usize::from(u16_at(head, 54)?) == HEADER && len <= LONGEST;
    (x86_64 && usual).then_some(start..start.checked_add(len as u64)?)
}

/// The program headers in a table.
pub(crate) fn headers(table: &[u8]) -> impl Iterator<Item = ProgramHeader> {
    table.chunks_exact(HEADER).filter_map(ProgramHeader::read)
}

/// Those of a file whose first bytes are `start`, as far as they lie in these.
pub(crate) fn headers_in(start: &[u8]) -> impl Iterator<Item = ProgramHeader> {
    let rows = table(start).and_then(|table| {
        let from = usize::try_from(table.start).ok()?;
        let to = usize::try_from(table.end).ok()?.min(start.len());
        start.get(from..to)
    });
    headers(rows.unwrap_or_default())
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(
        bytes.get(at..at.checked_add(2)?)?.try_into().ok()?,
    ))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(
        bytes.get(at..at.checked_add(4)?)?.try_into().ok()?,
    ))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(
        bytes.get(at..at.checked_add(8)?)?.try_into().ok()?,
    ))
}
