//! The file of a plug-in, judged.

use crate::dynamic::{self, Dynamic, relocations};
use crate::refusal::Refusal;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::elf::{DYN, Header, PF_X, PROGRAM_HEADER, PT_LOAD, ProgramHeader, VERSION};

/// Most bytes of a plug-in, in its file and in memory.
pub const MAX_FILE: u64 = 64 << 20;
/// Most program headers; linkers make about ten.
const MAX_ROWS: u16 = 64;
pub(crate) const PAGE: u64 = 4096;

const PF_W: u32 = 2;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const PT_TLS: u32 = 7;
const PT_GNU_RELRO: u32 = 0x6474_e552;

/// What may be done with a segment's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rights {
    /// Read.
    Read,
    /// Read and write.
    Write,
    /// Read and execute.
    Execute,
}

/// A piece of the object in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Where it begins, from the object's base.
    pub at: u64,
    /// Bytes in memory.
    pub memory: u64,
    /// What may be done with it.
    pub rights: Rights,
    /// Where it begins in the file.
    pub(crate) offset: u64,
    /// Bytes in the file; the rest is zero.
    pub(crate) len: u64,
}

impl Segment {
    /// The pages that it lies in.
    #[must_use]
    pub fn pages(&self) -> Range<u64> {
        let end = self.at + self.memory;
        self.at / PAGE * PAGE..end.next_multiple_of(PAGE)
    }

    /// Whether `len` bytes at `at` lie in it.
    pub(crate) fn holds(&self, at: u64, len: u64) -> bool {
        let before = at.checked_sub(self.at);
        before.is_some_and(|before| before <= self.memory && len <= self.memory - before)
    }

    fn read(row: &ProgramHeader) -> Result<Self, Refusal> {
        let rights = match (row.flags & PF_W != 0, row.flags & PF_X != 0) {
            (true, true) => return Err(Refusal::Unsupported("segments both writable and code")),
            (true, false) => Rights::Write,
            (false, true) => Rights::Execute,
            (false, false) => Rights::Read,
        };
        let end = row.address.checked_add(row.memory);
        if row.len > row.memory || end.is_none_or(|end| end > MAX_FILE) {
            return Err(Refusal::Malformed("a segment leaves its memory"));
        }
        Ok(Self {
            at: row.address,
            memory: row.memory,
            rights,
            offset: row.offset,
            len: row.len,
        })
    }
}

/// A plug-in whose headers, segments and dynamic section are in order.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) segments: Vec<Segment>,
    pub(crate) relocations: &'a [u8],
    /// What nobody writes to once it has been relocated.
    settled: Range<u64>,
    door: u64,
}

impl<'a> Object<'a> {
    /// Reads the file's contents.
    ///
    /// # Errors
    /// Why it cannot be a tool.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Refusal> {
        let header = Header::read(bytes).filter(Header::is_x86_64);
        let header = header.ok_or(Refusal::NotAnObject)?;
        if header.kind != DYN || header.version != VERSION {
            return Err(Refusal::NotShared);
        }
        if bytes.len() as u64 > MAX_FILE {
            return Err(Refusal::TooLarge);
        }
        let rows = rows(bytes, &header)?;
        let segments = segments(bytes, &rows)?;
        let mut object = Self {
            bytes,
            segments,
            relocations: &[],
            settled: settled(&rows),
            door: header.entry,
        };
        let table = rows.iter().find(|row| row.kind == PT_DYNAMIC);
        let table = table.ok_or(Refusal::Malformed("it has no dynamic section"))?;
        let dynamic = Dynamic::read(object.in_file(table.address, table.len)?)?;
        object.relocations = match dynamic.relocations {
            (_, 0) => &[],
            (at, len) => object.in_file(at, len)?,
        };
        dynamic::check(object.relocations, &object.segments)?;
        Ok(object)
    }

    /// Where the door lies, from the object's base; not yet known to be one.
    #[must_use]
    pub fn door(&self) -> u64 {
        self.door
    }

    /// The pieces of the object in memory, in order of their addresses.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Bytes of memory that the object takes, in whole pages.
    #[must_use]
    pub fn span(&self) -> u64 {
        self.segments.last().map_or(0, |last| last.pages().end)
    }

    /// Whether an instruction may begin at `at`, from the object's base.
    #[must_use]
    pub fn is_code(&self, at: u64) -> bool {
        let mut code = self.segments.iter();
        code.any(|segment| segment.rights == Rights::Execute && segment.holds(at, 1))
    }

    /// Words that name code and that nobody changes once they are relocated, as tables of functions do: where
    /// each lies, and what it names, both from the object's base. The linker says so of a part of the
    /// object (`-z relro`); none, if it does not.
    pub fn links(&self) -> impl Iterator<Item = (u64, u64)> {
        let all = relocations(self.relocations).map(|word| (word.place, word.addend));
        all.filter(|(place, target)| self.settled.contains(place) && self.is_code(*target))
    }

    /// The bytes of the file that are loaded at `at`.
    fn in_file(&self, at: u64, len: u64) -> Result<&'a [u8], Refusal> {
        const OUTSIDE: Refusal = Refusal::Malformed("a table lies outside the segments");
        let mut all = self.segments.iter();
        let segment = all.find(|segment| segment.holds(at, len)).ok_or(OUTSIDE)?;
        let before = at - segment.at;
        if before.checked_add(len).is_none_or(|end| end > segment.len) {
            return Err(OUTSIDE);
        }
        let start = (segment.offset + before) as usize;
        self.bytes.get(start..start + len as usize).ok_or(OUTSIDE)
    }
}

fn rows(bytes: &[u8], header: &Header) -> Result<Vec<ProgramHeader>, Refusal> {
    if usize::from(header.row) != PROGRAM_HEADER || header.rows > MAX_ROWS {
        return Err(Refusal::Malformed("its program headers are unusual"));
    }
    let table = usize::try_from(header.table).ok();
    let table = table.and_then(|at| bytes.get(at..)).ok_or(Refusal::Torn)?;
    let rows = table.chunks_exact(PROGRAM_HEADER);
    let rows: Vec<_> = rows.take(header.rows.into()).collect();
    if rows.len() != usize::from(header.rows) {
        return Err(Refusal::Torn);
    }
    let rows: Vec<_> = rows.into_iter().filter_map(ProgramHeader::read).collect();
    for row in &rows {
        match row.kind {
            PT_INTERP => return Err(Refusal::NotShared),
            PT_TLS => return Err(Refusal::Unsupported("thread-local variables")),
            _ => {}
        }
    }
    Ok(rows)
}

fn settled(rows: &[ProgramHeader]) -> Range<u64> {
    let row = rows.iter().find(|row| row.kind == PT_GNU_RELRO);
    row.map_or(0..0, |row| {
        row.address..row.address.saturating_add(row.memory)
    })
}

/// The loaded segments, each in the file, none overlapping the pages of another.
fn segments(bytes: &[u8], rows: &[ProgramHeader]) -> Result<Vec<Segment>, Refusal> {
    let loaded = rows.iter().filter(|row| row.kind == PT_LOAD);
    let mut segments: Vec<Segment> = Vec::new();
    for row in loaded.filter(|row| row.memory > 0) {
        let segment = Segment::read(row)?;
        let end = segment.offset.checked_add(segment.len);
        if end.is_none_or(|end| end > bytes.len() as u64) {
            return Err(Refusal::Torn);
        }
        let before = segments.last().map_or(0, |last| last.pages().end);
        if segment.pages().start < before {
            return Err(Refusal::Malformed("its segments overlap"));
        }
        segments.push(segment);
    }
    match segments.is_empty() {
        true => Err(Refusal::Malformed("it has no segments")),
        false => Ok(segments),
    }
}
