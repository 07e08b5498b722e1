//! Applying relocations at a placement.

use crate::fragment::{Exit, Fragment, Reloc, RelocKind, Section};
use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_abi::record::stub;

/// Where a fragment is to lie. All addresses are those at run time, even if the
/// bytes are written somewhere else first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placement {
    /// Cache address of the hot section.
    pub hot: u64,
    /// Cache address of the cold section, right before which the stubs of its exits lie.
    pub cold: u64,
    /// Address of the fragment's first slot.
    pub slots: u64,
    /// Base of the image it was translated from.
    pub image: ImageBase,
    /// Displacement from `gs` of the fragment's first cell. 0, where that is not known yet.
    pub cells: u64,
}

impl Placement {
    /// Cache address of stub `number` of `count`.
    #[must_use]
    pub const fn stub(&self, number: usize, count: usize) -> u64 {
        let offset = stub::at(number) as u64;
        self.cold
            .wrapping_sub(stub::room(count) as u64)
            .wrapping_add(offset)
    }
}

/// A field whose value does not fit 32 bits at this placement, or lies outside
/// its section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RangeError {
    /// The relocation at fault; of an exit, one that leads where the app goes.
    pub reloc: Reloc,
}

/// Writes every relocated field of `fragment` into `hot` and `cold`, copies of its
/// sections that will lie at `place`. Its exits lead to their stubs, which the caller writes
/// ([`crate::write_stubs`]).
///
/// # Errors
/// The first field that cannot be reached in 32 bits or is out of bounds; the
/// buffers are then partly written and must not be used.
pub fn apply(
    fragment: &Fragment,
    place: &Placement,
    hot: &mut [u8],
    cold: &mut [u8],
) -> Result<(), RangeError> {
    apply_parts(&fragment.relocs, place, hot, cold)?;
    let exits = fragment.exits.len();
    for (number, exit) in fragment.exits.iter().enumerate() {
        aim(exit, place.hot, place.stub(number, exits), hot)?;
    }
    Ok(())
}

/// Writes the fields of `relocs`, those of a fragment's that are no exit's.
///
/// # Errors
/// As [`apply()`].
pub fn apply_parts(
    relocs: &[Reloc],
    place: &Placement,
    hot: &mut [u8],
    cold: &mut [u8],
) -> Result<(), RangeError> {
    for reloc in relocs {
        let bytes = match reloc.section {
            Section::Hot => &mut *hot,
            Section::Cold => &mut *cold,
        };
        let value = field_value(reloc, place);
        put(bytes, reloc.at, value).ok_or(RangeError { reloc: *reloc })?;
    }
    Ok(())
}

/// Lets the branch of `exit`, of a fragment whose `hot` code will lie at cache address `at`, lead to cache address `to`.
///
/// # Errors
/// It is out of reach, or the branch out of bounds.
#[inline]
pub fn aim(exit: &Exit, at: u64, to: u64, hot: &mut [u8]) -> Result<(), RangeError> {
    let behind = at.wrapping_add(u64::from(exit.branch) + FIELD_LEN as u64);
    let distance = i32::try_from(to.wrapping_sub(behind) as i64).ok();
    put(hot, exit.branch, distance).ok_or(RangeError {
        reloc: Reloc {
            section: Section::Hot,
            at: exit.branch,
            pc_bias: FIELD_LEN,
            kind: RelocKind::App(exit.target),
        },
    })
}

/// Bytes of a field.
const FIELD_LEN: i32 = 4;

/// Writes `value` at `at`; `None`: there is none, or no such field.
#[inline]
fn put(bytes: &mut [u8], at: u32, value: Option<i32>) -> Option<()> {
    let field = bytes.get_mut(at as usize..)?.first_chunk_mut::<4>()?;
    *field = value?.to_le_bytes();
    Some(())
}

/// The number that `reloc` stores at `place`, or `None` out of reach.
#[inline]
fn field_value(reloc: &Reloc, place: &Placement) -> Option<i32> {
    if let RelocKind::AppAbs32(_) | RelocKind::Cell(_) = reloc.kind {
        return i32::try_from(target(reloc.kind, place) as i64).ok();
    }
    let section = match reloc.section {
        Section::Hot => place.hot,
        Section::Cold => place.cold,
    };
    let from = section
        .wrapping_add(u64::from(reloc.at))
        .wrapping_add(i64::from(reloc.pc_bias) as u64);
    i32::try_from(target(reloc.kind, place).wrapping_sub(from) as i64).ok()
}

#[inline]
fn target(kind: RelocKind, place: &Placement) -> u64 {
    let app = |off: ImageOff| off.at(place.image).0;
    match kind {
        RelocKind::App(off) | RelocKind::AppAbs32(off) => app(off),
        RelocKind::Slot(index) => place.slots.wrapping_add(8 * u64::from(index)),
        RelocKind::Hot(off) => place.hot.wrapping_add(u64::from(off)),
        RelocKind::Cold(off) => place.cold.wrapping_add(u64::from(off)),
        RelocKind::Cell(index) => cell(place.cells, index),
    }
}

/// Displacement from `gs` of a cell, where that of the first is known.
#[must_use]
pub const fn cell(first: u64, index: u16) -> u64 {
    first.wrapping_add(8 * index as u64)
}
