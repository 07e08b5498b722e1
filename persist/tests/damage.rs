//! No bytes make a reader panic, and no damage passes for a sound unit.

mod common;

use common::{KEY, frozen, sample};
use ppin_abi::addr::ImageOff;
use ppin_abi::area::LAYOUT_VERSION;
use ppin_abi::context::Context;
use ppin_persist::{
    FORMAT_VERSION, FragmentInfo, Geometry, HEADER_LEN, Key, KeyPart, Reject, SectionId, UnitFile,
    merge,
};
use ppin_relocator::{CountRow, PcRow};
use proptest::prelude::*;

/// Calls everything a reader can call. The outcome does not matter.
fn exercise(bytes: &[u8]) {
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
    for number in [0, 1, 7, unit.fragments(), u32::MAX] {
        let _ = (unit.info(number), unit.entry(number), unit.source(number));
        let _ = unit.pc_rows(number).map(Iterator::count);
        let _ = unit.counts(number).map(Iterator::count);
        let _ = unit.relocs(number).map(Iterator::count);
        let _ = unit.exits(number).map(Iterator::count);
        let _ = unit.with_stubs(number).map(Iterator::count);
        let _ = (unit.tool_record(number), file.thaw(number));
        let _ = (
            unit.fragment_at_hot(number),
            unit.fragment_at_cold(number, |_| true),
        );
        let _ = (unit.slot_group(number), unit.pc_row_at(number, 9));
        let _ = unit.entrance(ImageOff(number as i32), Context(0));
        if let Some(group) = unit.hot_group(number) {
            let _ = unit.sources(&group).map(Iterator::count);
        }
    }
    let _ = merge(&[file]);
}

/// They are written to: whoever does must stay inside the unit.
#[test]
fn spare_stubs_that_lie_elsewhere_are_refused() {
    let sound = frozen(&sample(40));
    let spares = UnitFile::open(&sound, None).unwrap().unit().spares();
    assert!(spares.count > 0);
    for (at, value) in [
        (384, spares.count + 1),
        (384, u32::MAX),
        (388, spares.cold + 0x10_0000),
        (388, u32::MAX),
        (392, spares.slot + 1),
        (392, u32::MAX),
    ] {
        let mut bytes = sound.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        seal(&mut bytes);
        let refused = UnitFile::open(&bytes, None).map(|_| ());
        assert_eq!(refused, Err(Reject::Impossible), "{value:#x} at {at}");
    }
}

/// The checksum of a head, written into it: damage by someone who knows the format.
fn seal(bytes: &mut [u8]) {
    let head_len = u32::from_le_bytes(bytes[144..148].try_into().unwrap()) as usize;
    if (32..=bytes.len()).contains(&head_len) {
        let mut hashed = bytes[..24].to_vec();
        hashed.extend_from_slice(&bytes[32..head_len]);
        let sum = xxhash_rust::xxh3::xxh3_64(&hashed);
        bytes[24..32].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Group checksums, written anew for whatever the groups hold now.
fn seal_groups(bytes: &mut [u8]) {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let label = u16::from_le_bytes([bytes[158], bytes[159]]);
    let text = word(bytes, 152) as usize + usize::from(label);
    let head_len = word(bytes, 144) as usize;
    for at in (HEADER_LEN..head_len - text).step_by(24) {
        let (start, len) = (word(bytes, at) as usize, word(bytes, at + 4) as usize);
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[start..start + len]);
        bytes[at + 8..at + 16].copy_from_slice(&sum.to_le_bytes());
    }
    seal(bytes);
}

#[test]
fn every_flipped_bit_is_found_in_every_section() {
    let sound = frozen(&sample(400));
    let spans = {
        let file = UnitFile::open(&sound, None).unwrap();
        let geometry = file.unit().geometry();
        [
            0..geometry.hot.start,
            geometry.hot.clone(),
            geometry.cold.clone(),
            geometry.slots.clone(),
            geometry.exit_slots.clone(),
        ]
    };
    let mut damaged = sound.clone();
    let (mut padding, mut found) = (0, 0);
    for span in spans {
        for at in span.clone().step_by(97) {
            let at = at as usize;
            damaged[at] ^= 1 << (at % 8);
            let verdict = UnitFile::open(&damaged, Some(&KEY)).and_then(|file| file.verify_all());
            assert!(verdict.is_err(), "byte {at}");
            match verdict == Err(Reject::Impossible) {
                true => padding += 1,
                false => found += 1,
            }
            damaged[at] = sound[at];
        }
    }
    assert!(found > 10 * padding, "checksums find it, but for padding");
}

#[test]
fn every_truncation_is_found() {
    let sound = frozen(&sample(30));
    for len in (0..sound.len()).step_by(53).chain([0, 1, 7, 8, 335, 336]) {
        let verdict = UnitFile::open(&sound[..len], None).map(|_| ());
        assert!(verdict.is_err(), "{len}");
        exercise(&sound[..len]);
    }
}

#[test]
fn zeroed_stretches_are_found() {
    let sound = frozen(&sample(400));
    for start in (0..sound.len()).step_by(4096) {
        let mut damaged = sound.clone();
        let end = (start + 4096).min(damaged.len());
        damaged[start..end].fill(0);
        if damaged == sound {
            continue;
        }
        let verdict = UnitFile::open(&damaged, None).and_then(|file| file.verify_all());
        assert!(verdict.is_err(), "{start}");
        exercise(&damaged);
    }
}

#[test]
fn foreign_files_are_refused_with_their_reason() {
    let sound = frozen(&sample(3));
    let open = |bytes: &[u8]| UnitFile::open(bytes, Some(&KEY)).map(|_| ()).unwrap_err();
    assert_eq!(open(b"\x7fELF and so on"), Reject::NotAUnit);
    assert_eq!(open(b"ppin"), Reject::TooShort);
    let mut other = sound.clone();
    other[8] = 99;
    assert_eq!(open(&other), Reject::Format { found: 99 });
    let mut other = sound.clone();
    other[12] = 98;
    assert_eq!(open(&other), Reject::Layout { found: 98 });
    let longer = [&sound[..], b"x"].concat();
    let recorded = sound.len() as u64;
    let found = recorded + 1;
    assert_eq!(open(&longer), Reject::Length { recorded, found });
    for (part, key) in [
        (
            KeyPart::Image,
            Key {
                image: [0; 32],
                ..KEY
            },
        ),
        (
            KeyPart::Engine,
            Key {
                engine: [0; 32],
                ..KEY
            },
        ),
        (
            KeyPart::Tool,
            Key {
                tool: [0; 32],
                ..KEY
            },
        ),
    ] {
        let verdict = UnitFile::open(&sound, Some(&key)).map(|_| ());
        assert_eq!(verdict, Err(Reject::Key(part)));
    }
}

#[test]
fn damage_in_one_group_spares_the_others() {
    let mut bytes = frozen(&sample(3000));
    let (pc_rows, fragments) = {
        let file = UnitFile::open(&bytes, None).unwrap();
        let rows = file.unit().pc_rows(2999).unwrap().count();
        assert_eq!(rows, 6);
        (find(&bytes, SectionId::PcRows), file.unit().fragments())
    };
    bytes[pc_rows.1 - 1] ^= 1;
    let file = UnitFile::open(&bytes, None).unwrap();
    assert!(file.unit().pc_rows(0).is_ok());
    let damaged = file.unit().pc_rows(fragments - 1).map(Iterator::count);
    assert!(matches!(
        damaged,
        Err(Reject::Group {
            section: SectionId::PcRows,
            ..
        })
    ));
    assert!(file.unit().counts(fragments - 1).is_ok());
}

/// Right checksums, but a register lies where none can: no row is made of that.
#[test]
fn a_spill_set_that_makes_no_sense_is_refused() {
    const STACK_POINTER: u8 = 4;
    let mut bytes = frozen(&sample(12));
    let (start, end) = find(&bytes, SectionId::Spills);
    assert_eq!(end - start, 8, "all fragments need the same set");
    bytes[start] = STACK_POINTER + 1;
    seal_groups(&mut bytes);
    let file = UnitFile::open(&bytes, None).unwrap();
    let refused = Reject::Record(SectionId::PcRows);
    assert_eq!(file.thaw(0), Err(refused));
    assert_eq!(file.verify_all().err(), Some(refused));
}

/// What a run reads of a fragment after its code was admitted.
type ReadLater = (FragmentInfo, Vec<PcRow>, Vec<CountRow>);

/// That of all fragments; `None` if a group is refused.
fn read_later(bytes: &[u8]) -> Option<Vec<ReadLater>> {
    let file = UnitFile::open(bytes, Some(&KEY)).ok()?;
    let unit = file.unit();
    let mut all = Vec::new();
    for group in (0..unit.hot_groups()).filter_map(|n| unit.hot_group(n)) {
        unit.check_tables_of(&group).ok()?;
        for number in group.fragments {
            let info = unit.info(number).expect("verified with its group");
            let rows = unit.pc_rows(number).expect("verified with its group");
            let counts = unit.counts(number).expect("verified with its group");
            all.push((info, rows.collect(), counts.collect()));
        }
    }
    Some(all)
}

#[test]
fn no_flipped_bit_in_a_table_reaches_code_that_was_admitted() {
    let mut bytes = frozen(&sample(12));
    let right = read_later(&bytes).expect("sound");
    let mut refused = 0;
    for bit in 0..8 * find(&bytes, SectionId::Tool).1 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        match read_later(&bytes) {
            Some(read) => assert!(read == right, "bit {bit}"),
            None => refused += 1,
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(refused > 0);
}

/// Start and end of a section in the file.
fn find(bytes: &[u8], section: SectionId) -> (usize, usize) {
    let at = 160 + 16 * section as usize;
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    (word(at), word(at) + word(at + 4))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes_do_not_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        exercise(&bytes);
        if bytes.len() >= 16 {
            bytes[..8].copy_from_slice(b"ppinunit");
            bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
            bytes[12..16].copy_from_slice(&LAYOUT_VERSION.to_le_bytes());
            exercise(&bytes);
        }
    }

    /// Damage with right checksums, head only: only the sense of it is wrong.
    #[test]
    fn sealed_nonsense_in_the_head_does_not_panic(
        changes in proptest::collection::vec((0..900usize, any::<u8>()), 1..6),
    ) {
        let mut bytes = frozen(&sample(40));
        for (at, value) in changes {
            bytes[at] = value;
        }
        seal(&mut bytes);
        exercise(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Damage with right checksums, anywhere behind the head.
    #[test]
    fn sealed_nonsense_in_records_does_not_panic(
        changes in proptest::collection::vec((0.0..1.0f64, any::<u8>()), 1..30),
    ) {
        let mut bytes = frozen(&sample(40));
        let start = 1000;
        for (part, value) in changes {
            let at = start + ((bytes.len() - start) as f64 * part) as usize;
            bytes[at] = value;
        }
        seal_groups(&mut bytes);
        exercise(&bytes);
    }
}
