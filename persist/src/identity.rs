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
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::elf::{EXEC, Header, PT_NOTE, u32_at};
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

/// Bytes at the start of a file that are enough to look for a build id.
pub const START: usize = 4096;
/// Files up to this length are sampled whole.
const SAMPLE: u64 = (PIECES * PIECE) as u64;
/// Pieces of a longer file.
const PIECES: usize = 64;
/// Length of a piece in bytes.
const PIECE: usize = 4096;

/// Note types of the two owners.
const NT_GNU_BUILD_ID: u32 = 3;
const NT_GO_BUILD_ID: u32 = 4;

/// Where a file keeps its build id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BuildId<'a> {
    /// The build id.
    Found(&'a [u8]),
    /// Notes lie in these parts of the file, beyond its start.
    In(Vec<Range<u64>>),
    /// The file has no build id.
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
        (header.kind == PT_NOTE && header.len > 0).then_some(header.offset..end)
    })
}

/// Whether `start`, found in memory at `base`, is the head of the file that has code mapped at
/// `base` + `offset`, its file offset: another file's may lie there.
#[must_use]
pub fn is_head_of(start: &[u8], base: u64, offset: u64) -> bool {
    let load_bias = if Header::read(start).is_some_and(|header| header.kind == EXEC) {
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
fn note_id(mut notes: &[u8]) -> Option<&[u8]> {
    loop {
        let number = |at| u32_at(notes, at);
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
    let hash = xxh3_128(bytes).to_le_bytes();
    digest(b"contents", bytes.len() as u64, &hash)
}

/// Parts of a file of `len` bytes that are its sample.
fn sample_of(len: u64) -> impl Iterator<Item = Range<u64>> {
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

/// Identity of a file of `len` bytes, some 256 KB of which are read at most. `read` fills a
/// buffer from an offset, or fails.
pub fn of(len: u64, mut read: impl FnMut(u64, &mut [u8]) -> Option<()>) -> Option<[u8; 32]> {
    let mut part = |range: Range<u64>| {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        read(range.start, &mut bytes).map(|()| bytes)
    };
    let start = part(0..len.min(START as u64))?;
    let id = match build_id(&start) {
        BuildId::Found(id) => Some(id.to_vec()),
        BuildId::In(notes) => notes
            .into_iter()
            .filter(|notes| notes.end <= len)
            .find_map(|notes| note_id(&part(notes)?).map(<[u8]>::to_vec)),
        BuildId::None => None,
    };
    if let Some(id) = id {
        return Some(by_build_id(len, &id));
    }
    let mut hash = Xxh3Default::new();
    for range in sample_of(len) {
        hash.update(&part(range)?);
    }
    Some(digest(b"sample", len, &hash.digest128().to_le_bytes()))
}

/// Identity of a file whose bytes are at hand.
#[must_use]
pub fn of_file(bytes: &[u8]) -> [u8; 32] {
    let read = |at: u64, to: &mut [u8]| {
        let at = at as usize;
        to.copy_from_slice(bytes.get(at..at + to.len())?);
        Some(())
    };
    of(bytes.len() as u64, read).unwrap_or_default()
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
    use ppin_abi::elf::PROGRAM_HEADER;
    use proptest::prelude::*;

    /// An ELF file whose one note segment lies at `at`.
    fn file(at: u64, owner: &[u8; 4], kind: u32, id: &[u8]) -> Vec<u8> {
        let mut file = vec![0; at as usize];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[18] = 62;
        file[32..40].copy_from_slice(&64u64.to_le_bytes());
        file[54] = PROGRAM_HEADER as u8;
        file[56..58].copy_from_slice(&1u16.to_le_bytes());
        let mut note = Vec::new();
        for number in [4, id.len() as u32, kind] {
            note.extend_from_slice(&number.to_le_bytes());
        }
        note.extend_from_slice(owner);
        note.extend_from_slice(id);
        file[64..68].copy_from_slice(&PT_NOTE.to_le_bytes());
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
