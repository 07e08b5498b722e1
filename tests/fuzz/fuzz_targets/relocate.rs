//! Any relocations at any placement: applied or refused, and where applied, each
//! field holds what it should unless a later one overwrote it.
#![no_main]

use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_relocator::{Placement, Reloc, RelocKind, Section, apply_parts, normalise_parts};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((place, rest)) = data.split_first_chunk::<32>() else {
        return;
    };
    let word = |n: usize| u64::from_le_bytes(place[8 * n..8 * n + 8].try_into().expect("8 bytes"));
    let place = Placement {
        hot: word(0),
        cold: word(1),
        slots: word(2),
        image: ImageBase(word(3)),
        cells: word(0) >> 16,
    };
    let relocs: Vec<Reloc> = rest.as_chunks::<10>().0.iter().map(reloc).collect();
    let (mut hot, mut cold) = ([0x55; 128], [0xaa; 128]);
    if apply_parts(&relocs, &place, &mut hot, &mut cold).is_ok()
        && let Some(last) = relocs.last()
    {
        check(last, &place, &hot, &cold);
    }
    normalise_parts(&relocs, &[], &mut hot, &mut cold);
});

fn reloc(bytes: &[u8; 10]) -> Reloc {
    let target = u32::from_le_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
    Reloc {
        section: if bytes[0] & 1 == 0 {
            Section::Hot
        } else {
            Section::Cold
        },
        at: u32::from(bytes[1]),
        pc_bias: i32::from_le_bytes([bytes[6], bytes[7], bytes[8], bytes[9]]),
        kind: match bytes[0] >> 1 & 7 {
            0 => RelocKind::App(ImageOff(target as i32)),
            1 | 6 => RelocKind::AppAbs32(ImageOff(target as i32)),
            2 | 7 => RelocKind::Slot(target as u16),
            3 => RelocKind::Hot(target),
            4 => RelocKind::Cell(target as u16),
            _ => RelocKind::Cold(target),
        },
    }
}

fn check(reloc: &Reloc, place: &Placement, hot: &[u8], cold: &[u8]) {
    let (bytes, section) = match reloc.section {
        Section::Hot => (hot, place.hot),
        Section::Cold => (cold, place.cold),
    };
    let at = reloc.at as usize;
    let value = i32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let from = section
        .wrapping_add(u64::from(reloc.at))
        .wrapping_add(i64::from(reloc.pc_bias) as u64);
    let reached = from.wrapping_add(i64::from(value) as u64);
    let (found, meant) = match reloc.kind {
        RelocKind::App(off) => (reached, off.at(place.image).0),
        RelocKind::AppAbs32(off) => (i64::from(value) as u64, off.at(place.image).0),
        RelocKind::Slot(n) => (reached, place.slots.wrapping_add(8 * u64::from(n))),
        RelocKind::Hot(off) => (reached, place.hot.wrapping_add(u64::from(off))),
        RelocKind::Cold(off) => (reached, place.cold.wrapping_add(u64::from(off))),
        RelocKind::Cell(n) => (i64::from(value) as u64, place.cells.wrapping_add(8 * u64::from(n))),
    };
    assert_eq!(found, meant);
}
