//! What the targets share.

use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_abi::context::Context;
use ppin_abi::spills::SpillSet;
use ppin_persist::{Geometry, Key, MovedUnit, Piece, UnitFile, UnitSpec, freeze, merge};
use ppin_relocator::{
    CountRow, Exit, Fragment, FragmentRef, PcRow, Reloc, RelocKind, Section, SlotInit,
};

/// Calls everything a reader can call. Nothing may panic.
pub fn exercise(bytes: &[u8]) {
    let _ = Geometry::peek(bytes, bytes.len() as u64);
    let Ok(file) = UnitFile::open(bytes, None) else {
        return;
    };
    let unit = file.unit();
    let _ = (
        unit.check_tables(),
        file.summary(),
        file.verify_all(),
        unit.image_path(),
    );
    let moved = MovedUnit::new(unit, 0x7000_0000_0000, ImageBase(0x7000_1000_0000));
    for number in (0..unit.fragments().min(40)).chain([u32::MAX]) {
        let _ = (unit.info(number), unit.entry(number), unit.source(number));
        let _ = unit.pc_rows(number).map(Iterator::count);
        let _ = unit.counts(number).map(Iterator::count);
        let _ = unit.relocs(number).map(Iterator::count);
        let _ = unit.exits(number).map(Iterator::count);
        let _ = unit.with_stubs(number).map(Iterator::count);
        let _ = (unit.tool_record(number), file.thaw(number));
        let _ = (
            unit.fragment_at_hot(number.wrapping_mul(16)),
            unit.fragment_at_cold(number.wrapping_mul(16), |_| true),
        );
        let _ = (unit.slot_group(number), unit.pc_row_at(number, 9));
        let _ = unit.entrance(ImageOff(number as i32), Context(0));
        if let Some(group) = unit.hot_group(number) {
            let _ = unit.sources(&group).map(Iterator::count);
            let _ = moved.fix_hot(&group, &mut vec![0; group.len as usize]);
        }
        if let Some(group) = unit.cold_group(number) {
            let _ = moved.fix_cold(&group, &mut vec![0; group.len as usize]);
        }
    }
    let _ = merge(&[file]);
}

/// A sound unit.
#[must_use]
pub fn sample() -> Vec<u8> {
    let fragments: Vec<_> = (0..40).map(fragment).collect();
    let pieces: Vec<_> = fragments
        .iter()
        .map(|fragment| Piece {
            fragment: FragmentRef::from(fragment),
            flags: 0,
            source_hash: 1,
            tool: b"tool",
        })
        .collect();
    let spec = UnitSpec {
        key: Key {
            image: [1; 32],
            engine: [2; 32],
            tool: [3; 32],
        },
        displacement: 0x100_0000,
        image_base: ImageBase(0x40_0000),
        image_path: b"/bin/true",
        label: b"null",
        explored: false,
        entrances: true,
        fragments: &pieces,
    };
    freeze(&spec).expect("the sample is sound")
}

fn fragment(number: i32) -> Fragment {
    let reloc = |section, at, kind| Reloc {
        section,
        at,
        pc_bias: 4,
        kind,
    };
    Fragment {
        head: ImageOff(16 * number),
        source_len: 16,
        beyond: 0,
        instructions: 4,
        shape: ppin_relocator::Shape::STRAIGHT,
        hot: vec![number as u8; 700],
        cold: vec![0x90; 80],
        slots: vec![
            SlotInit::App(ImageOff(5)),
            SlotInit::Landing(ImageOff(6)),
            SlotInit::ImageCounters,
            SlotInit::Bundles(3),
            SlotInit::Behind(3),
            SlotInit::App(ImageOff(7)),
        ],
        relocs: vec![
            reloc(Section::Hot, 16, RelocKind::App(ImageOff(100))),
            reloc(Section::Hot, 24, RelocKind::AppAbs32(ImageOff(100))),
            reloc(Section::Cold, 32, RelocKind::Slot(0)),
            reloc(Section::Cold, 36, RelocKind::Hot(60)),
            reloc(Section::Hot, 40, RelocKind::Cold(60)),
            reloc(Section::Hot, 48, RelocKind::Cell(2)),
        ],
        exits: vec![Exit {
            target: ImageOff(16 * (number * 7 % 50)),
            context: Context(0),
            branch: 32,
        }],
        pc_map: (0..5)
            .map(|row| PcRow {
                hot: 8 * row,
                app: row,
                spilled: SpillSet::at_home(3),
                flags: 1,
            })
            .collect(),
        counts: vec![CountRow {
            done: 7,
            counter: 0x100,
            image: true,
            app: 3,
            amount: 1,
        }],
        ..Fragment::default()
    }
}

/// Writes right checksums over whatever the groups and the head hold. Gives up where
/// the head makes that impossible.
pub fn seal(bytes: &mut [u8]) -> Option<()> {
    let word = |bytes: &[u8], at: usize| {
        let field = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(field.try_into().ok()?) as usize)
    };
    let head_len = word(bytes, 144)?;
    let text = word(bytes, 152)?.checked_add(word(bytes, 156)? >> 16)?;
    for at in (336..head_len.checked_sub(text)?).step_by(24) {
        let (start, len) = (word(bytes, at)?, word(bytes, at + 4)?);
        let group = bytes.get(start..start.checked_add(len)?)?;
        let sum = xxhash_rust::xxh3::xxh3_64(group).to_le_bytes();
        bytes.get_mut(at + 8..at + 16)?.copy_from_slice(&sum);
    }
    let hashed = [bytes.get(..24)?, bytes.get(32..head_len)?].concat();
    let sum = xxhash_rust::xxh3::xxh3_64(&hashed).to_le_bytes();
    bytes.get_mut(24..32)?.copy_from_slice(&sum);
    Some(())
}
