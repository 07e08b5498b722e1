//! Applying relocations at a placement.

use crate::fragment::{Exit, Fragment, Reloc, RelocKind, Section};
use ppin_abi::addr::{ImageBase, ImageOff};

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
    /// Where the slots of exits lie, if they do not follow the others.
    pub exit_slots: Option<ExitSlots>,
    /// Base of the image it was translated from.
    pub image: ImageBase,
    /// Displacement from `gs` of the fragment's first cell. 0, where that is not known yet.
    pub cells: u64,
}

/// Where the slots of a fragment's exits lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExitSlots {
    /// Number of the first in the fragment ([`crate::FragmentRef::slots_apart`]).
    pub first: u16,
    /// Its address.
    pub at: u64,
}

/// A field whose value does not fit 32 bits at this placement, or lies outside
/// its section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RangeError {
    /// The relocation at fault.
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
        write_field(bytes, reloc, place)?;
    }
    for exit in exits {
        // (Written out: the four kinds are constants to the compiler then.)
        let [branch, stub, slot, record] = exit.relocs();
        write_field(hot, &branch, place)?;
        write_field(cold, &stub, place)?;
        write_field(cold, &slot, place)?;
        write_field(cold, &record, place)?;
    }
    Ok(())
}

#[inline]
fn write_field(bytes: &mut [u8], reloc: &Reloc, place: &Placement) -> Result<(), RangeError> {
    let at = reloc.at as usize;
    let field = bytes
        .get_mut(at..)
        .and_then(<[u8]>::first_chunk_mut::<4>)
        .zip(field_value(reloc, place));
    let (field, value) = field.ok_or(RangeError { reloc: *reloc })?;
    *field = value.to_le_bytes();
    Ok(())
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
        RelocKind::Slot(index) => slot(place, index),
        RelocKind::Hot(off) => place.hot.wrapping_add(u64::from(off)),
        RelocKind::Cold(off) => place.cold.wrapping_add(u64::from(off)),
        RelocKind::Cell(index) => cell(place.cells, index),
    }
}

/// Address of slot `index`.
#[inline]
fn slot(place: &Placement, index: u16) -> u64 {
    let (start, index) = match place.exit_slots {
        Some(exits) if index >= exits.first => (exits.at, index - exits.first),
        _ => (place.slots, index),
    };
    start.wrapping_add(8 * u64::from(index))
}

/// Displacement from `gs` of a cell, where that of the first is known.
#[must_use]
pub const fn cell(first: u64, index: u16) -> u64 {
    first.wrapping_add(8 * index as u64)
}
