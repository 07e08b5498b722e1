//! The part of the runtime that is mapped into programs. Symbols, line tables and the list
//! of sections come behind it: they would be most of the file.

use object::LittleEndian as LE;
use object::elf::FileHeader64;
use object::pod;
use object::read::elf::{FileHeader, ProgramHeader};

type Header = FileHeader64<LE>;

/// `elf` up to the end of its last segment, without a list of sections.
pub fn mapped_part(elf: &[u8]) -> Option<Vec<u8>> {
    let header = Header::parse(elf).ok()?;
    let segments = header.program_headers(LE, elf).ok()?.iter();
    let ends = segments.map(|segment| segment.p_offset(LE) + segment.p_filesz(LE));
    let end = usize::try_from(ends.max()?).ok()?;
    let mut mapped = elf.get(..end)?.to_vec();
    let (header, _) = pod::from_bytes_mut::<Header>(&mut mapped).ok()?;
    header.e_shoff.set(LE, 0);
    header.e_shnum.set(LE, 0);
    header.e_shstrndx.set(LE, 0);
    Some(mapped)
}
