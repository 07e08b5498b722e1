//! The program headers of a file, from the bytes that are at hand.

use core::ops::Range;
use ppin_abi::elf::{Header, PROGRAM_HEADER, ProgramHeader};

/// Longest table that is read.
const LONGEST: usize = 1 << 16;

/// Where the file that begins with `head` (64 bytes or more) has its program headers; `None` if
/// it is no program or library for x86-64.
pub(crate) fn table(head: &[u8]) -> Option<Range<u64>> {
    let header = Header::read(head).filter(Header::is_x86_64)?;
    let len = usize::from(header.rows) * PROGRAM_HEADER;
    let usual = usize::from(header.row) == PROGRAM_HEADER && len <= LONGEST;
    usual.then_some(header.table..header.table.checked_add(len as u64)?)
}

/// The program headers in a table.
pub(crate) fn headers(table: &[u8]) -> impl Iterator<Item = ProgramHeader> {
    table
        .chunks_exact(PROGRAM_HEADER)
        .filter_map(ProgramHeader::read)
}

/// The program headers of a file, as far as they lie in `start`, its first bytes.
pub(crate) fn headers_in(start: &[u8]) -> impl Iterator<Item = ProgramHeader> {
    let rows = table(start).and_then(|table| {
        let from = usize::try_from(table.start).ok()?;
        let to = usize::try_from(table.end).ok()?.min(start.len());
        start.get(from..to)
    });
    headers(rows.unwrap_or_default())
}
