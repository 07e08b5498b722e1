//! Which image a file is, told from a few bytes of it.
//!
//! The identity *locates* units: it says in which directory to look. What is found there runs
//! only after the app's bytes in memory have been compared with those it was made from, group
//! by group. So two files of one identity cost a comparison, never a wrong result, and nobody
//! has to read a whole file, or to remember that it was read: a database can be copied,
//! shipped, and used read-only at once.
//!
//! - A file with a *build id* (the linker's hash of its contents: ELF note `NT_GNU_BUILD_ID`,
//!   or Go's) is its build id and its length.
//! - Another file is its length and a *sample* of its contents: all of it up to [`SAMPLE`]
//!   bytes, else [`PIECES`] pieces of [`PIECE`] bytes spread evenly over it.
//! - Code without a file (the vdso) is its bytes.

use crate::elf;
use alloc::vec::Vec;
use core::ops::Range;
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::Xxh3Default;

/// Bytes at the start of a file that are enough to look for a build id.
pub const START: usize = 4096;
/// Files up to this length are sampled whole.
pub const SAMPLE: u64 = (PIECES * PIECE) as u64;
/// Pieces of a longer file.
pub const PIECES: usize = 64;
/// Length of a piece in bytes.
pub const PIECE: usize = 4096;

/// Note types of the two owners.
const NT_GNU_BUILD_ID: u32 = 3;
const NT_GO_BUILD_ID: u32 = 4;

/// Where a file keeps its build id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BuildId<'a> {
    /// It is this.
    Found(&'a [u8]),
    /// Notes lie in these parts of the file, beyond its start ([`note_id`] reads them).
    In(Vec<Range<u64>>),
    /// It has none.
    None,
}

/// Looks for the build id in the first bytes of a file ([`START`], or all of a shorter one).
#[must_use]
pub fn build_id(start: &[u8]) -> BuildId<'_> {
    let mut beyond = Vec::new();
    for notes in note_segments(start) {
        let inside = usize::try_from(notes.start)
            .ok()
            .zip(usize::try_from(notes.end).ok())
            .and_then(|(from, to)| start.get(from..to));
        match inside.map(note_id) {
            Some(Some(id)) => return BuildId::Found(id),
            Some(None) => {}
            None if notes.end - notes.start <= START as u64 => beyond.push(notes),
            None => {}
        }
    }
    if beyond.is_empty() {
        BuildId::None
    } else {
        BuildId::In(beyond)
    }
}

/// Parts of the file that hold notes.
fn note_segments(start: &[u8]) -> impl Iterator<Item = Range<u64>> {
    elf::headers_in(start).filter_map(|header| {
        let end = header.offset.checked_add(header.len)?;
        (header.kind == elf::PT_NOTE && header.len > 0).then_some(header.offset..end)
    })
}

/// Whether `start`, found in memory at `base`, is the head of the file that has code mapped at
/// `base` + `offset`, its file offset: another file's may lie there.
#[must_use]
pub fn is_head_of(start: &[u8], base: u64, offset: u64) -> bool {
    const ET_EXEC: u16 = 2;
    let load_bias = if elf::u16_at(start, 16) == Some(ET_EXEC) {
        0
    } else {
        base
    };
    elf::headers_in(start).any(|header| {
        let first = header.offset & !(PIECE as u64 - 1);
        let holds = first <= offset && offset < header.offset.saturating_add(header.len);
        let there = load_bias.wrapping_add(header.address);
        header.is_code() && holds && there == base.wrapping_add(header.offset)
    })
}

/// The build id in a part of a file that holds notes (elf(5), "Notes").
#[must_use]
pub fn note_id(mut notes: &[u8]) -> Option<&[u8]> {
    loop {
        let number = |at| elf::u32_at(notes, at);
        let (name, desc, kind) = (number(0)?, number(4)?, number(8)?);
        let name_end = 12usize.checked_add(name as usize)?;
        let desc_at = name_end.checked_next_multiple_of(4)?;
        let desc_end = desc_at.checked_add(desc as usize)?;
        let owner = notes.get(12..name_end)?;
        let id = notes.get(desc_at..desc_end)?;
        let ours = (owner == b"GNU\0" && kind == NT_GNU_BUILD_ID)
            || (owner == b"Go\0\0" && kind == NT_GO_BUILD_ID);
        if ours && !id.is_empty() {
            return Some(id);
        }
        notes = notes.get(desc_end.checked_next_multiple_of(4)?..)?;
    }
}

/// Identity of a file of `len` bytes with this build id.
#[must_use]
pub fn by_build_id(len: u64, id: &[u8]) -> [u8; 32] {
    digest(b"build id", len, id)
}

/// Identity of code without a file.
#[must_use]
pub fn by_contents(bytes: &[u8]) -> [u8; 32] {
    digest(b"contents", bytes.len() as u64, bytes)
}

/// Parts of a file of `len` bytes that are its sample, in the order in which a [`Sample`]
/// wants them.
pub fn sample_of(len: u64) -> impl Iterator<Item = Range<u64>> {
    let pieces = if len <= SAMPLE {
        len.div_ceil(PIECE as u64)
    } else {
        PIECES as u64
    };
    let piece = PIECE as u64;
    (0..pieces).map(move |n| {
        let start = if len <= SAMPLE {
            n * piece
        } else {
            // Both factors are below 2^63 / 64.
            u64::try_from(u128::from(len - piece) * u128::from(n) / (PIECES as u128 - 1))
                .unwrap_or(0)
        };
        start..len.min(start + piece)
    })
}

/// Identity of a file without a build id, in the making.
#[derive(Clone)]
pub struct Sample {
    len: u64,
    hash: Xxh3Default,
}

impl core::fmt::Debug for Sample {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sample")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl Sample {
    /// Of a file of `len` bytes.
    #[must_use]
    pub fn new(len: u64) -> Self {
        Self {
            len,
            hash: Xxh3Default::new(),
        }
    }

    /// The next part of [`sample_of`].
    pub fn add(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
    }

    /// The identity.
    #[must_use]
    pub fn finish(&self) -> [u8; 32] {
        digest(b"sample", self.len, &self.hash.digest128().to_le_bytes())
    }
}

/// Identity of a file whose bytes are at hand.
#[must_use]
pub fn of_file(bytes: &[u8]) -> [u8; 32] {
    let len = bytes.len() as u64;
    let part = |range: Range<u64>| bytes.get(range.start as usize..range.end as usize);
    match build_id(&bytes[..bytes.len().min(START)]) {
        BuildId::Found(id) => return by_build_id(len, id),
        BuildId::In(notes) => {
            if let Some(id) = notes.into_iter().filter_map(part).find_map(note_id) {
                return by_build_id(len, id);
            }
        }
        BuildId::None => {}
    }
    let mut sample = Sample::new(len);
    sample_of(len)
        .filter_map(part)
        .for_each(|bytes| sample.add(bytes));
    sample.finish()
}

fn digest(kind: &[u8], len: u64, bytes: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"ppin image by ");
    hash.update(kind);
    hash.update([0]);
    hash.update(len.to_le_bytes());
    hash.update(bytes);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    /// An ELF file whose one note segment lies at `at`.
    fn file(at: u64, owner: &[u8; 4], kind: u32, id: &[u8]) -> Vec<u8> {
        let mut file = vec![0; at as usize];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[18] = 62;
        file[32..40].copy_from_slice(&64u64.to_le_bytes());
        file[54] = elf::HEADER as u8;
        file[56..58].copy_from_slice(&1u16.to_le_bytes());
        let mut note = Vec::new();
        for number in [4, id.len() as u32, kind] {
            note.extend_from_slice(&number.to_le_bytes());
        }
        note.extend_from_slice(owner);
        note.extend_from_slice(id);
        file[64..68].copy_from_slice(&elf::PT_NOTE.to_le_bytes());
        file[72..80].copy_from_slice(&at.to_le_bytes());
        file[96..104].copy_from_slice(&(note.len() as u64).to_le_bytes());
        file.extend_from_slice(&note);
        file.resize(file.len() + 9000, 0x90);
        file
    }

    #[test]
    fn build_ids_are_found_near_and_far() {
        for (owner, kind) in [(b"GNU\0", NT_GNU_BUILD_ID), (b"Go\0\0", NT_GO_BUILD_ID)] {
            for at in [200, 6000] {
                let file = file(at, owner, kind, b"0123456789");
                let expected = by_build_id(file.len() as u64, b"0123456789");
                assert_eq!(of_file(&file), expected, "{at}");
            }
        }
        let near = file(200, b"GNU\0", NT_GNU_BUILD_ID, b"abcd");
        assert_eq!(build_id(&near[..START]), BuildId::Found(b"abcd"));
        let far = file(6000, b"GNU\0", NT_GNU_BUILD_ID, b"abcd");
        assert!(matches!(build_id(&far[..START]), BuildId::In(_)));
        let other = file(200, b"GNU\0", 1, b"abcd");
        assert_eq!(build_id(&other[..START]), BuildId::None);
    }

    #[test]
    fn a_head_belongs_to_what_is_mapped_as_it_says() {
        let mut file = file(200, b"GNU\0", NT_GNU_BUILD_ID, b"abcd");
        let mut load = |address: u64| {
            file[64..72].copy_from_slice(&[1, 0, 0, 0, 5, 0, 0, 0]);
            file[72..80].copy_from_slice(&0x1000u64.to_le_bytes());
            file[80..88].copy_from_slice(&address.to_le_bytes());
            file[96..104].copy_from_slice(&0x3000u64.to_le_bytes());
            file.clone()
        };
        let plain = load(0x1000);
        assert!(is_head_of(&plain, 0x7000_0000, 0x1000));
        assert!(is_head_of(&plain, 0x7000_0000, 0x3000));
        assert!(!is_head_of(&plain, 0x7000_0000, 0x4000));
        let shifted = load(0x2000);
        assert!(!is_head_of(&shifted, 0x7000_0000, 0x1000));
        let mut fixed = load(0x40_1000);
        fixed[16] = 2;
        assert!(is_head_of(&fixed, 0x40_0000, 0x1000));
        assert!(!is_head_of(&fixed, 0x50_0000, 0x1000));
    }

    #[test]
    fn files_with_other_build_ids_or_lengths_are_others() {
        let one = file(200, b"GNU\0", NT_GNU_BUILD_ID, b"abcd");
        let two = file(200, b"GNU\0", NT_GNU_BUILD_ID, b"abce");
        let longer = [&one[..], b"x"].concat();
        assert_ne!(of_file(&one), of_file(&two));
        assert_ne!(of_file(&one), of_file(&longer));
    }

    #[test]
    fn small_files_differ_in_every_byte() {
        let file: Vec<u8> = (0..20_000u32).map(|n| n as u8).collect();
        for at in (0..file.len()).step_by(61).chain([file.len() - 1]) {
            let mut other = file.clone();
            other[at] ^= 1;
            assert_ne!(of_file(&file), of_file(&other), "byte {at}");
        }
    }

    #[test]
    fn samples_of_large_files_reach_from_end_to_end() {
        for len in [SAMPLE + 1, 3 << 20, u64::MAX >> 6] {
            let parts: Vec<_> = sample_of(len).collect();
            assert_eq!((parts.len(), parts[0].start), (PIECES, 0));
            assert_eq!(parts[PIECES - 1].end, len);
            assert!(
                parts
                    .iter()
                    .all(|part| part.end - part.start == PIECE as u64)
            );
        }
        let whole: u64 = sample_of(SAMPLE).map(|part| part.end - part.start).sum();
        assert_eq!(whole, SAMPLE);
        assert_eq!(sample_of(0).count(), 0);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..6000)) {
            let _ = of_file(&bytes);
            if bytes.len() >= 6 {
                bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
                let _ = of_file(&bytes);
            }
            let _ = note_id(&bytes);
        }
    }
}
