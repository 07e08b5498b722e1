//! The dynamic section: relocations, and what a tool must not ask for.

use crate::object::{Rights, Segment};
use crate::refusal::Refusal;
use ppin_abi::elf::u64_at;

const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_PLTRELSZ: u64 = 2;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_RELAENT: u64 = 9;
const DT_INIT: u64 = 12;
const DT_FINI: u64 = 13;
const DT_REL: u64 = 17;
const DT_TEXTREL: u64 = 22;
const DT_INIT_ARRAYSZ: u64 = 27;
const DT_FINI_ARRAYSZ: u64 = 28;
const DT_RELR: u64 = 36;

/// Length of an entry of the dynamic section.
const ENTRY: usize = 16;
/// Length of a relocation.
pub const RELA: usize = 24;
/// The one type of relocation that names no symbol.
const R_RELATIVE: u64 = 8;

/// The dynamic section, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dynamic {
    /// Where the relocations lie, and how many bytes they take.
    pub relocations: (u64, u64),
}

impl Dynamic {
    pub fn read(table: &[u8]) -> Result<Self, Refusal> {
        let mut found = Self::default();
        for entry in table.chunks_exact(ENTRY) {
            let (tag, value) = (u64_at(entry, 0), u64_at(entry, 8));
            let (tag, value) = (tag.unwrap_or(DT_NULL), value.unwrap_or(0));
            match (tag, value) {
                (DT_NULL, _) => return Ok(found),
                (DT_RELA, at) => found.relocations.0 = at,
                (DT_RELASZ, len) => found.relocations.1 = len,
                (DT_RELAENT, len) if len != RELA as u64 => {
                    return Err(Refusal::Malformed("its relocations are unusual"));
                }
                (DT_PLTRELSZ | DT_INIT_ARRAYSZ | DT_FINI_ARRAYSZ, 0) => {}
                (DT_NEEDED | DT_PLTRELSZ, _) => return Err(Refusal::Imports),
                (DT_INIT | DT_FINI | DT_INIT_ARRAYSZ | DT_FINI_ARRAYSZ, _) => {
                    return Err(Refusal::Unsupported("constructors and destructors"));
                }
                (DT_REL | DT_RELR, _) => {
                    return Err(Refusal::Unsupported("packed relocations"));
                }
                (DT_TEXTREL, _) => return Err(Refusal::Unsupported("relocations of code")),
                _ => {}
            }
        }
        Err(Refusal::Malformed("its dynamic section has no end"))
    }
}

/// A relocation: the word at `place` becomes the base plus `addend`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relocation {
    pub place: u64,
    pub addend: u64,
}

/// The relocations of a checked table.
pub fn relocations(table: &[u8]) -> impl Iterator<Item = Relocation> {
    table.chunks_exact(RELA).filter_map(|row| {
        Some(Relocation {
            place: u64_at(row, 0)?,
            addend: u64_at(row, 16)?,
        })
    })
}

/// All relocations are relative, write to writable memory, and point into the object.
pub fn check(table: &[u8], segments: &[Segment]) -> Result<(), Refusal> {
    let kinds = table.chunks_exact(RELA).map(|row| u64_at(row, 8));
    if !table.len().is_multiple_of(RELA) {
        return Err(Refusal::Malformed("its relocations are torn"));
    }
    if kinds.into_iter().any(|kind| kind != Some(R_RELATIVE)) {
        return Err(Refusal::Imports);
    }
    let end = segments.last().map_or(0, |last| last.at + last.memory);
    let fits = |relocation: Relocation| {
        let mut writable = segments.iter().filter(|s| s.rights == Rights::Write);
        relocation.addend <= end && writable.any(|s| s.holds(relocation.place, 8))
    };
    match relocations(table).all(fits) {
        true => Ok(()),
        false => Err(Refusal::Malformed("a relocation leaves its memory")),
    }
}
