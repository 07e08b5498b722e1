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
    /// Cache address of the cold section.
    pub cold: u64,
    /// Address of the fragment's first slot.
    pub slots: u64,
    /// Address of the first slot of an exit.
    pub exit_slots: u64,
    /// Base of the image it was translated from.
    pub image: ImageBase,
    /// Displacement from `gs` of the fragment's first cell. 0, where that is not known yet.
    pub cells: u64,
}

/// A field whose value does not fit 32 bits at this placement, or lies outside
/// its section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RangeError {
    /// The relocation at fault; of an exit, one that leads to its stub.
    pub reloc: Reloc,
}

/// Writes every relocated field of `fragment` into `hot` and `cold`, copies of its
/// sections that will lie at `place`.
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
    apply_parts(&fragment.relocs, &fragment.exits, place, hot, cold)
}

/// [`apply()`] for relocations and exits that are kept apart from their fragment.
///
/// # Errors
/// As [`apply()`].
pub fn apply_parts(
    relocs: &[Reloc],
    exits: &[Exit],
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
    for (number, exit) in exits.iter().enumerate() {
        apply_exit(number, exit, place, hot, cold)?;
    }
    Ok(())
}

/// Writes the fields of exit `number`.
#[inline]
fn apply_exit(
    number: usize,
    exit: &Exit,
    place: &Placement,
    hot: &mut [u8],
    cold: &mut [u8],
) -> Result<(), RangeError> {
    let [(section, branch), (_, jump)] = exit.fields(number);
    let stub = stub::at(number);
    let slot = place.exit_slots.wrapping_add(8 * number as u64);
    let to_stub = rel32(place.hot, branch, place.cold.wrapping_add(u64::from(stub)));
    let through_slot = rel32(place.cold, jump, slot);
    put(hot, branch, to_stub)
        .and_then(|()| put(cold, jump, through_slot))
        .ok_or(RangeError {
            reloc: Reloc {
                section,
                at: branch,
                pc_bias: FIELD_LEN,
                kind: RelocKind::Cold(stub),
            },
        })
}

/// Bytes of a field.
const FIELD_LEN: i32 = 4;

/// The distance to `target` that a branch has in a field at `at` of the section at `start`.
#[inline]
fn rel32(start: u64, at: u32, target: u64) -> Option<i32> {
    let from = start.wrapping_add(u64::from(at) + FIELD_LEN as u64);
    i32::try_from(target.wrapping_sub(from) as i64).ok()
}

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
