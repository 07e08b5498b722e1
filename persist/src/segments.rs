//! Names code of an ELF file by *image offsets*, which stay the same wherever
//! the file is loaded.
//!
//! A file may have several executable segments (`PT_LOAD` with `PF_X`), and the distance
//! between address and file offset may differ from one to the next. The distances between
//! segments of one load never change, so the first of them gives the base of all:
//!
//! ```text
//! image base   = address of any byte of the first executable segment - its file offset
//! image offset = address - image base
//!              = address as linked - (address as linked - file offset of the first one)
//! ```
//! In the first executable segment, and in all that lie at the same distance, an image
//! offset is thus a file offset. Files without such segments, and parts of a file that
//! belong to none, are named by file offset.

use crate::elf;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::{ImageBase, ImageRange};
use ppin_abi::elf::{PT_GNU_RELRO, ProgramHeader};

const PAGE: u64 = 4096;

/// An executable segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Segment {
    /// In the file.
    offset: u64,
    /// As linked.
    address: u64,
    /// Bytes in the file.
    len: u64,
}

impl From<ProgramHeader> for Segment {
    fn from(header: ProgramHeader) -> Self {
        Self {
            offset: header.offset,
            address: header.address,
            len: header.len,
        }
    }
}

impl Segment {
    /// From address as linked back to file offset.
    fn distance(&self) -> u64 {
        self.address.wrapping_sub(self.offset)
    }

    /// Whether mapping the segment, whose first byte is at `start`, also maps the byte at `at`:
    /// whole pages are mapped.
    fn holds(&self, start: u64, at: u64) -> bool {
        let lead = start % PAGE;
        let len = self.len.saturating_add(lead);
        let len = len.checked_next_multiple_of(PAGE).unwrap_or(len);
        at.wrapping_sub(start.wrapping_sub(lead)) < len
    }
}

/// The segments of an ELF file that matter for its code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segments {
    /// Those that are executable, by address; at least one.
    code: Vec<Segment>,
    /// Addresses, as linked, of what is made read-only once it has been relocated.
    sealed: Range<u64>,
}

impl Segments {
    /// Bytes at the start of a file that [`Segments::table`] needs.
    pub const HEAD: usize = 64;

    /// Where the file that begins with `head` has its table of segments; `None` if it is no
    /// program or library for x86-64.
    #[must_use]
    pub fn table(head: &[u8]) -> Option<Range<u64>> {
        elf::table(head)
    }

    /// From the table of segments; `None` if none is executable.
    #[must_use]
    pub fn parse(table: &[u8]) -> Option<Self> {
        let code = elf::headers(table).filter(ProgramHeader::is_code);
        let mut all: Vec<Segment> = code.map(Segment::from).collect();
        all.sort_by_key(|segment| segment.address);
        let sealed = elf::headers(table).find(|header| header.kind == PT_GNU_RELRO);
        let sealed = sealed.map_or(0..0, |header| {
            header.address..header.address.saturating_add(header.memory)
        });
        (!all.is_empty()).then_some(Self { code: all, sealed })
    }

    /// Of the file that these bytes are.
    #[must_use]
    pub fn of_file(bytes: &[u8]) -> Option<Self> {
        let table = Self::table(bytes)?;
        let (start, end) = (table.start.try_into().ok()?, table.end.try_into().ok()?);
        Self::parse(bytes.get(start..end)?)
    }

    /// Distance of the first one: what image offsets are short of addresses as linked.
    fn first(&self) -> u64 {
        self.code[0].distance()
    }

    /// For a mapping of file offset `offset`: subtract this from `address - offset` to get the
    /// image base. Several values if segments share a page of the file, the likeliest first; none
    /// if no segment holds the offset.
    pub fn shifts(&self, offset: u64) -> impl Iterator<Item = u64> {
        let holding = self.code.iter().filter(move |s| s.holds(s.offset, offset));
        let begins = move |s: &&Segment| s.offset - s.offset % PAGE == offset;
        let (first, rest) = (holding.clone().filter(begins), holding);
        let rest = rest.filter(move |s| !begins(s));
        let shift = |s: &Segment| s.distance().wrapping_sub(self.first());
        first.chain(rest).map(shift)
    }

    /// Whether a load with its base at `base` has another segment for whose first address
    /// less file offset `other` could be taken.
    #[must_use]
    pub fn misleads(&self, base: u64, other: u64) -> bool {
        let shift = |s: &Segment| s.distance().wrapping_sub(self.first());
        let found = self.code.iter().map(shift);
        found
            .filter(|it| *it != 0)
            .any(|it| base.wrapping_add(it) == other)
    }

    /// The address, as linked, of an image offset.
    #[must_use]
    pub fn address(&self, image_offset: i32) -> u64 {
        (i64::from(image_offset) as u64).wrapping_add(self.first())
    }

    /// The executable segments, by address: the image offset of the first byte, and where the
    /// file has them.
    pub fn code(&self) -> impl Iterator<Item = (i64, Range<u64>)> {
        self.code.iter().map(|s| {
            let start = s.address.wrapping_sub(self.first()).cast_signed();
            (start, s.offset..s.offset.saturating_add(s.len))
        })
    }

    /// What the loader makes read-only once it has relocated it (`PT_GNU_RELRO`): whole pages.
    #[must_use]
    pub fn sealed(&self) -> ImageRange {
        let Range { start, end } = self.sealed;
        let end = end - end % PAGE;
        let range = ImageRange::of(ImageBase(self.first()), start, end);
        range.filter(|_| start < end).unwrap_or(ImageRange::NONE)
    }

    /// Where the file holds the code at an image offset.
    #[must_use]
    pub fn file_offset(&self, image_offset: i32) -> Option<u64> {
        let address = self.address(image_offset);
        let inside = |s: &&Segment| address.wrapping_sub(s.address) < s.len;
        let around = |s: &&Segment| s.holds(s.address, address);
        let segment = self.code.iter().find(inside);
        let segment = segment.or_else(|| self.code.iter().find(around));
        let offset = segment.map(|s| address.wrapping_sub(s.distance()));
        offset.or_else(|| u64::try_from(image_offset).ok())
    }
}

/// The `len` bytes of code at an image offset, in the contents of a file with these
/// segments; `None` if they lie beyond its end.
#[must_use]
pub fn code_at<'a>(
    file: &'a [u8],
    segments: Option<&Segments>,
    image_offset: i32,
    len: u32,
) -> Option<&'a [u8]> {
    let start = match segments {
        Some(segments) => segments.file_offset(image_offset)?,
        None => u64::try_from(image_offset).ok()?,
    };
    let start = usize::try_from(start).ok()?;
    file.get(start..start.checked_add(len as usize)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppin_abi::elf::PROGRAM_HEADER;

    /// Kind, flags, offset, address, bytes in the file.
    type Row = [u64; 5];

    const READ: u64 = 4;
    const CODE: u64 = 5;

    /// A file of nothing but the head and the table, which lies at `at`.
    fn file(at: usize, rows: &[Row]) -> Vec<u8> {
        let mut bytes = vec![0; at + rows.len() * PROGRAM_HEADER];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[16] = 3;
        bytes[18] = 62;
        bytes[32..40].copy_from_slice(&(at as u64).to_le_bytes());
        bytes[54] = PROGRAM_HEADER as u8;
        bytes[56] = rows.len() as u8;
        for (row, to) in rows
            .iter()
            .zip(bytes[at..].chunks_exact_mut(PROGRAM_HEADER))
        {
            to[..4].copy_from_slice(&(row[0] as u32).to_le_bytes());
            to[4..8].copy_from_slice(&(row[1] as u32).to_le_bytes());
            to[8..16].copy_from_slice(&row[2].to_le_bytes());
            to[16..24].copy_from_slice(&row[3].to_le_bytes());
            to[32..40].copy_from_slice(&row[4].to_le_bytes());
        }
        bytes
    }

    /// As the optimiser BOLT leaves a library: the cold rest first, at a distance of a page;
    /// what it has rewritten behind all else, at none.
    fn bolted() -> Segments {
        let rows = [
            [1, READ, 0, 0, 0x4_49a9],
            [1, CODE, 0x4_49a9, 0x4_59a9, 0x3_1000],
            [1, 6, 0x8_0000, 0x8_2000, 0x100],
            [1, CODE, 0x10_0000, 0x10_0000, 0x2_0044],
        ];
        Segments::of_file(&file(64, &rows)).unwrap()
    }

    fn shifts(segments: &Segments, offset: u64) -> Vec<u64> {
        segments.shifts(offset).collect()
    }

    #[test]
    fn the_first_executable_segment_is_the_measure() {
        let segments = bolted();
        assert_eq!(shifts(&segments, 0x4_4000), [0]);
        assert_eq!(shifts(&segments, 0x7_5000), [0]);
        assert_eq!(shifts(&segments, 0x7_6000), [0u64; 0]);
        assert_eq!(shifts(&segments, 0x10_0000), [0x1000u64.wrapping_neg()]);
        // Both mappings of a load at 0x7000_0000 give one base.
        for (address, offset) in [(0x4_5000u64, 0x4_4000u64), (0x11_0000, 0x11_0000)] {
            let shift = shifts(&segments, offset)[0];
            let base = (0x7000_0000 + address - offset).wrapping_sub(shift);
            assert_eq!(base, 0x7000_1000);
        }
        assert!(segments.misleads(0x7000_1000, 0x7000_0000));
        assert!(!segments.misleads(0x7000_1000, 0x7000_1000));
    }

    #[test]
    fn image_offsets_lead_to_the_file_and_to_addresses() {
        let segments = bolted();
        for (offset, address) in [(0x4_49a9u64, 0x4_59a9u64), (0x11_0010, 0x11_0010)] {
            let named = (address - 0x1000) as i32;
            assert_eq!(segments.file_offset(named), Some(offset));
            assert_eq!(segments.address(named), address);
        }
        // The rest of a segment's last page is mapped with it.
        assert_eq!(segments.file_offset(0x12_0044 - 0x1000), Some(0x12_0044));
        // Bytes outside of all segments are named by their file offset.
        assert_eq!(segments.file_offset(0x20), Some(0x20));
        assert_eq!(segments.file_offset(-1), None);
    }

    #[test]
    fn what_is_made_read_only_is_whole_pages() {
        const RELRO: u64 = PT_GNU_RELRO as u64;
        // (In memory nothing is longer than in this file.)
        let sealed = |len: u64| {
            let rows = [
                [1, CODE, 0x1000, 0x2000, 0x100],
                [RELRO, READ, 0x2d00, 0x4d00, len],
            ];
            let mut bytes = file(64, &rows);
            let memory = 64 + PROGRAM_HEADER + 40;
            bytes[memory..memory + 8].copy_from_slice(&len.to_le_bytes());
            Segments::of_file(&bytes).unwrap().sealed()
        };
        let range = |start, end| ImageRange::of(ImageBase(0x1000), start, end).unwrap();
        assert_eq!(sealed(0x1300), range(0x4d00, 0x6000));
        assert_eq!(sealed(0x1400), range(0x4d00, 0x6000));
        assert_eq!([sealed(0x100), bolted().sealed()], [ImageRange::NONE; 2]);
    }

    #[test]
    fn code_is_found_in_the_contents() {
        let rows = [[1, CODE, 0, 0, 0x10], [1, CODE, 0x20, 0x1020, 0x10]];
        let mut bytes = file(0x40, &rows);
        let segments = Segments::of_file(&bytes);
        bytes[0x20..0x24].copy_from_slice(b"code");
        let code = |segments, at| code_at(&bytes, segments, at, 4);
        assert_eq!(code(segments.as_ref(), 0x1020), Some(&b"code"[..]));
        assert_eq!(code(None, 0x20), Some(&b"code"[..]));
        assert_eq!(code(None, 0x1020), None);
        assert_eq!(code(None, -4), None);
    }

    #[test]
    fn two_segments_may_share_a_page_of_the_file() {
        let rows = [
            [1, CODE, 0x1000, 0x1000, 0x800],
            [1, CODE, 0x1800, 0x2800, 0x1000],
        ];
        let segments = Segments::of_file(&file(64, &rows)).unwrap();
        assert_eq!(shifts(&segments, 0x1000), [0, 0x1000]);
        assert_eq!(shifts(&segments, 0x2000), [0x1000]);
        assert_eq!(segments.file_offset(0x1400), Some(0x1400));
        assert_eq!(segments.file_offset(0x2900), Some(0x1900));
    }

    #[test]
    fn the_table_may_lie_anywhere_and_the_order_does_not_matter() {
        let rows = [
            [1, CODE, 0x5000, 0x9000, 0x10],
            [1, CODE, 0x1000, 0x2000, 0x10],
        ];
        let segments = Segments::of_file(&file(0x700, &rows)).unwrap();
        assert_eq!(segments.address(0x1000), 0x2000);
        assert_eq!(shifts(&segments, 0x5000), [0x3000]);
    }

    #[test]
    fn what_is_no_program_has_no_segments() {
        let whole = file(64, &[[1, CODE, 0x1000, 0x1000, 0x10]]);
        for len in 0..whole.len() {
            assert_eq!(Segments::of_file(&whole[..len]), None);
        }
        assert!(Segments::of_file(&whole).is_some());
        assert_eq!(Segments::of_file(&file(64, &[[1, READ, 0, 0, 9]])), None);
        let mut other = whole.clone();
        other[18] = 3;
        assert_eq!(Segments::of_file(&other), None);
        let mut far = whole;
        far[32..40].copy_from_slice(&(u64::MAX - 3).to_le_bytes());
        assert_eq!(Segments::of_file(&far), None);
    }

    #[test]
    fn absurd_numbers_end_in_a_value() {
        let big = [1, CODE, u64::MAX - 9, 7, u64::MAX];
        let rows = [big, [1, CODE, 3, u64::MAX, u64::MAX - 1]];
        let segments = Segments::of_file(&file(64, &rows)).unwrap();
        for at in [i32::MIN, -1, 0, 1, i32::MAX] {
            let _ = (segments.file_offset(at), segments.address(at));
        }
        for at in [0, 1, u64::MAX - 4095, u64::MAX] {
            let _ = shifts(&segments, at);
            let _ = segments.misleads(at, 0);
        }
    }
}
