//! What is frozen is what is thawed, and the bytes say the same at every place.

mod common;

use common::{KEY, PATH, frozen, pieces, sample, spec, unit};
use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_abi::context::Context;
use ppin_abi::record::stub;
use ppin_persist::{
    FreezeError, GROUP, Geometry, HEADER_LEN, Head, MAX_COLD, MAX_HOT, MovedUnit, RawUnit,
    SectionId, SlotValue, Thawed, UnitFile, freeze,
};
use ppin_relocator::entrance::NEAR;
use ppin_relocator::{
    Exit, Fragment, Placement, RelocKind, SlotInit, apply, may_enter_aside, side_entrances,
    write_stubs,
};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn thaw_undoes_freeze(fragments in unit(30)) {
        let bytes = frozen(&fragments);
        let file = UnitFile::open(&bytes, Some(&KEY)).unwrap();
        prop_assert_eq!(&file.thaw_all().unwrap(), &fragments);
        prop_assert_eq!(file.verify_all(), Ok(()));
    }

    #[test]
    fn every_entry_is_found_and_nothing_else(fragments in unit(40)) {
        let bytes = frozen(&fragments);
        let file = UnitFile::open(&bytes, None).unwrap();
        for head in [i32::MIN, 0, 0x1000, 0x1100, i32::MAX] {
            let before = fragments.iter().filter(|thawed| thawed.fragment.head.0 < head);
            let first = file.unit().first_entry_from(ImageOff(head));
            prop_assert_eq!(first as usize, before.count());
        }
        let unit = file.unit();
        for (number, thawed) in fragments.iter().enumerate() {
            let fragment = &thawed.fragment;
            let entry = unit.lookup(fragment.head, fragment.context).unwrap().unwrap();
            let info = unit.info(entry.fragment).unwrap();
            prop_assert_eq!(entry.fragment, number as u32);
            prop_assert_eq!(entry.hot, info.entry());
            prop_assert_eq!(info.head, fragment.head);
            prop_assert_eq!(unit.lookup(fragment.head, Context(99)).unwrap(), None);
        }
        prop_assert_eq!(unit.lookup(ImageOff(i32::MIN), Context(0)).unwrap(), None);
        prop_assert_eq!(unit.lookup(ImageOff(i32::MAX), Context(0)).unwrap(), None);
    }

    #[test]
    fn code_offsets_lead_back_to_their_fragment(fragments in unit(30)) {
        let bytes = frozen(&fragments);
        let file = UnitFile::open(&bytes, None).unwrap();
        let unit = file.unit();
        for number in 0..unit.fragments() {
            let info = unit.info(number).unwrap();
            for at in [info.hot.start, info.hot.end - 1] {
                prop_assert_eq!(unit.fragment_at_hot(at).unwrap(), Some(info.clone()));
            }
            for at in [info.cold.start, info.cold.end - 1] {
                prop_assert_eq!(unit.fragment_at_cold(at, |_| true).unwrap(), Some(info.clone()));
                prop_assert_eq!(unit.fragment_at_cold(at, |_| false), Ok(None));
            }
            let group = unit.hot_group_at(info.hot.start).unwrap();
            prop_assert!(group.fragments.contains(&number));
            prop_assert!(info.hot.end <= group.offset + group.len);
        }
        prop_assert_eq!(unit.fragment_at_hot(u32::MAX).unwrap(), None);
    }

    /// A unit that was mapped elsewhere and fixed is what direct placement gives.
    #[test]
    fn a_moved_unit_equals_direct_placement(
        fragments in unit(20),
        shift in -0x4000..0x4000i64,
        base in 0..0x1000u64,
    ) {
        let bytes = frozen(&fragments);
        let geometry = Geometry::peek(&bytes, bytes.len() as u64).unwrap();
        let base = ImageBase(0x1000 * base);
        let hot_va = geometry.preferred_hot(base).wrapping_add((0x1000 * shift) as u64);
        // Nothing lies at the end of the address space.
        prop_assume!(hot_va < 1 << 47);
        let moved = move_unit(&bytes, &fragments, hot_va, base);
        let file = UnitFile::open(&bytes, None).unwrap();
        let entrances = entrances(&file, &fragments);
        for (number, thawed) in fragments.iter().enumerate() {
            let info = file.unit().info(number as u32).unwrap();
            let place = Placement {
                hot: hot_va + u64::from(info.hot.start),
                cold: hot_va + (geometry.cold.start - geometry.hot.start)
                    + u64::from(info.cold.start + stub::room(info.stubs.len())),
                slots: hot_va + (geometry.slots.start - geometry.hot.start)
                    + 8 * u64::from(info.slots.start),
                image: base,
                cells: cells(number as u32, thawed).start,
            };
            let exit_slots = hot_va + (geometry.exit_slots.start - geometry.hot.start)
                + 8 * u64::from(info.stubs.start);
            let (hot, cold) = place_directly(thawed, &place, exit_slots, &entrances, hot_va);
            let at = geometry.hot.start as usize;
            prop_assert_eq!(&moved[at..][info.hot.start as usize..info.hot.end as usize], &hot);
            let at = geometry.cold.start as usize;
            prop_assert_eq!(&moved[at..][info.cold.start as usize..info.cold.end as usize], &cold);
        }
    }
}

/// Where in the hot section each place is entered that an exit may lead to: a fragment at its head, else the one
/// with the nearest head aside. Of two with one head that is the one that assumes more.
fn entrances(file: &UnitFile<'_>, fragments: &[Thawed]) -> HashMap<(ImageOff, Context), u32> {
    let mut heads = HashMap::new();
    let mut aside = BTreeMap::new();
    for (number, Thawed { fragment, .. }) in fragments.iter().enumerate() {
        let info = file.unit().info(number as u32).unwrap();
        heads.insert((fragment.head, fragment.context), info.entry());
        for (off, app, hot) in entered_aside(fragment) {
            aside.insert(
                (off, app, Reverse(fragment.context.0)),
                info.hot.start + hot,
            );
        }
    }
    for ((off, ..), hot) in aside {
        heads.entry((off, Context::CANONICAL)).or_insert(hot);
    }
    heads
}

/// The side entrances of a fragment: the app instruction, its distance from the head, and its hot offset.
fn entered_aside(fragment: &Fragment) -> Vec<(ImageOff, u32, u32)> {
    if !may_enter_aside(fragment.context, &fragment.counts) {
        return Vec::new();
    }
    let within = fragment.source_len - fragment.beyond;
    let mut from = 0;
    side_entrances(fragment.pc_map.iter())
        .filter(|row| {
            let follows = row.app >= from;
            from = from.max(row.app + 1);
            follows
        })
        .filter(|row| row.app <= NEAR && row.app < within)
        .map(|row| (ImageOff(fragment.head.0 + row.app as i32), row.app, row.hot))
        .collect()
}

/// Displacements from `gs` of the cells of fragment `number`.
fn cells(number: u32, thawed: &Thawed) -> Range<u64> {
    let first = 0x10_0000 * u64::from(number + 1);
    first..first + 8 * u64::from(thawed.fragment.cells().unwrap_or(0))
}

/// All of a unit's code, fixed group by group as the runtime does it.
fn move_unit(bytes: &[u8], fragments: &[Thawed], hot_va: u64, base: ImageBase) -> Vec<u8> {
    let unit = RawUnit::new(bytes, bytes.len() as u64)
        .unwrap()
        .verify_any()
        .unwrap();
    let geometry = unit.geometry();
    let mut moved = bytes.to_vec();
    let fits = geometry.fits(hot_va, base);
    let fixer = MovedUnit::new(&unit, hot_va, base);
    for number in 0..unit.hot_groups() {
        let group = unit.hot_group(number).unwrap();
        let at = geometry.hot.start as usize + group.offset as usize;
        let part = &mut moved[at..at + group.len as usize];
        unit.check_hot(number, part).unwrap();
        if !fits {
            fixer.fix_hot(&group, part).unwrap();
        }
        for n in group.fragments.clone() {
            let cells = cells(n, &fragments[n as usize]);
            unit.fix_cells(&group, n, cells, part).unwrap();
        }
    }
    if fits {
        return moved;
    }
    for number in 0..unit.cold_groups() {
        let group = unit.cold_group(number).unwrap();
        let at = geometry.cold.start as usize + group.offset as usize;
        let part = &mut moved[at..at + group.len as usize];
        unit.check_cold(number, part).unwrap();
        fixer.fix_cold(&group, part).unwrap();
    }
    moved
}

fn place_directly(
    thawed: &Thawed,
    place: &Placement,
    exit_slots: u64,
    entrances: &HashMap<(ImageOff, Context), u32>,
    hot_va: u64,
) -> (Vec<u8>, Vec<u8>) {
    let fragment = &thawed.fragment;
    let (mut hot, mut records) = (fragment.hot.clone(), fragment.cold.clone());
    apply(fragment, place, &mut hot, &mut records).unwrap();
    let linked = |exit: &Exit| entrances.get(&(exit.target, exit.context));
    let stubs = fragment.exits.iter().filter(|exit| linked(exit).is_none());
    let stubs = stubs.count();
    let mut next = 0..stubs;
    for exit in &fragment.exits {
        let target = match linked(exit) {
            Some(entrance) => hot_va + u64::from(*entrance),
            None => place.stub(next.next().unwrap(), stubs),
        };
        let from = place.hot + u64::from(exit.branch) + 4;
        let field = (target.wrapping_sub(from) as i32).to_le_bytes();
        hot[exit.branch as usize..][..4].copy_from_slice(&field);
    }
    // Gaps in code are `int3`.
    let mut cold = vec![0xcc; stub::room(stubs) as usize];
    write_stubs(stubs, place.stub(0, stubs), exit_slots, &mut cold).unwrap();
    cold.append(&mut records);
    (hot, cold)
}

#[test]
fn slots_are_symbolic_and_follow_their_hot_group() {
    let fragments = sample(2000);
    let bytes = frozen(&fragments);
    let file = UnitFile::open(&bytes, None).unwrap();
    let unit = file.unit();
    let geometry = unit.geometry();
    assert!(unit.hot_groups() > 5);
    assert!(
        geometry.exit_slots.start.is_multiple_of(4096),
        "apart from the others"
    );
    let within = |start: u64, range: Range<u32>| {
        &bytes[start as usize..][range.start as usize..range.end as usize]
    };
    let value = |bits: &[u8; 8]| SlotValue::decode(u64::from_le_bytes(*bits)).unwrap();
    let mut all = [Vec::new(), Vec::new()];
    for group in 0..unit.hot_groups() {
        let slots = within(geometry.slots.start, unit.slot_group(group).unwrap());
        let exits = within(
            geometry.exit_slots.start,
            unit.exit_slot_group(group).unwrap(),
        );
        unit.check_slots(group, slots).unwrap();
        unit.check_exit_slots(group, exits).unwrap();
        all[0].extend(slots.as_chunks().0.iter().map(value));
        all[1].extend(exits.as_chunks().0.iter().map(value));
    }
    for (number, thawed) in fragments.iter().enumerate() {
        let [SlotInit::App(app)] = thawed.fragment.slots[..] else {
            panic!("the sample has one");
        };
        let info = unit.info(number as u32).unwrap();
        assert_eq!(all[0][number], SlotValue::App(app));
        let exits = &all[1][info.stubs.start as usize..info.stubs.end as usize];
        match exits {
            [] => assert_eq!(unit.with_stubs(info.number).unwrap().count(), 0),
            [exit] => assert_eq!(*exit, SlotValue::Cold(stub::LEAVE + info.cold.start)),
            _ => panic!("the sample has one exit"),
        }
    }
}

/// The processor does not go there: bits 47 to 63 of an address are the same, or 56 to 63.
#[test]
fn slots_of_exits_are_no_addresses() {
    for offset in [0, 1, u32::MAX] {
        let bits = SlotValue::Cold(offset).encode();
        let canonical = |width: u32| (bits << (64 - width)).cast_signed() >> (64 - width);
        assert!(
            [48, 57]
                .iter()
                .all(|width| canonical(*width) != bits.cast_signed())
        );
        assert_eq!(SlotValue::decode(bits), Some(SlotValue::Cold(offset)));
    }
}

#[test]
fn sources_are_listed_by_group() {
    let fragments = sample(1500);
    let bytes = frozen(&fragments);
    let file = UnitFile::open(&bytes, None).unwrap();
    let groups = (0..file.unit().hot_groups()).map(|group| file.unit().hot_group(group).unwrap());
    let listed: Vec<_> = groups
        .flat_map(|group| file.unit().sources(&group).unwrap().collect::<Vec<_>>())
        .collect();
    assert_eq!(listed.len(), fragments.len());
    for (source, thawed) in listed.iter().zip(&fragments) {
        assert_eq!(source.head, thawed.fragment.head);
        assert_eq!(
            (source.len, source.hash),
            (thawed.fragment.source_len, thawed.source_hash)
        );
    }
}

#[test]
fn the_row_of_the_pc_map_covers_an_offset() {
    let bytes = frozen(&sample(3));
    let file = UnitFile::open(&bytes, None).unwrap();
    let row = |offset| file.unit().pc_row_at(1, offset).unwrap().unwrap().hot;
    assert_eq!(
        [row(0), row(7), row(8), row(39), row(1000)],
        [0, 0, 8, 32, 40]
    );
}

#[test]
fn equal_fragments_give_equal_bytes_and_order_is_kept() {
    let fragments = sample(100);
    assert_eq!(frozen(&fragments), frozen(&fragments.clone()));
    let file = frozen(&fragments);
    let file = UnitFile::open(&file, None).unwrap();
    assert_eq!(
        file.unit().info(17).unwrap().head,
        fragments[17].fragment.head
    );
    assert_eq!(file.unit().image_path(), PATH);
    assert_eq!(file.unit().label(), b"bbcount");
    let summary = file.summary().unwrap();
    assert_eq!(
        (summary.fragments, summary.exits, summary.linked),
        (100, 100, 100)
    );
}

#[test]
fn where_the_image_lies_does_not_reach_the_file() {
    let fragments = sample(50);
    let pieces = pieces(&fragments);
    let here = spec(&pieces);
    let mut there = here;
    there.image_base = ImageBase(0x7f12_3456_7000);
    assert_eq!(freeze(&here).unwrap(), freeze(&there).unwrap());
}

#[test]
fn the_table_part_is_enough_to_read_tables() {
    let bytes = frozen(&sample(500));
    let len = bytes.len() as u64;
    let hot = Geometry::peek(&bytes, len).unwrap().hot.start as usize;
    let unit = RawUnit::new(&bytes[..hot], len)
        .unwrap()
        .verify(&KEY)
        .unwrap();
    assert_eq!(unit.check_tables(), Ok(()));
    assert!(RawUnit::new(&bytes[..hot - 1], len).is_err());
}

#[test]
fn the_head_alone_says_what_a_catalog_wants() {
    let bytes = frozen(&sample(500));
    let len = bytes.len() as u64;
    let head_len = Geometry::peek(&bytes[..HEADER_LEN], len).unwrap().head_len as usize;
    let head = Head::verify(&bytes[..head_len], len).unwrap();
    let file = UnitFile::open(&bytes, None).unwrap();
    assert_eq!(head.geometry, file.unit().geometry());
    assert_eq!(head.checksum, file.unit().checksum());
    assert_eq!((head.image_path, head.label), (PATH, &b"bbcount"[..]));
    assert!(Head::verify(&bytes[..head_len - 1], len).is_err());
}

#[test]
fn a_long_fragment_has_a_group_of_its_own() {
    let mut fragments = sample(3);
    fragments[1].fragment.hot.resize(5 * GROUP + 1, 0);
    let bytes = frozen(&fragments);
    let file = UnitFile::open(&bytes, None).unwrap();
    let group = file.unit().hot_group(1).unwrap();
    assert_eq!((group.offset, group.fragments.start), (GROUP as u32, 1));
    assert!(group.len > 5 * GROUP as u32);
    assert_eq!(file.verify_all(), Ok(()));
}

#[test]
fn what_does_not_fit_is_refused() {
    assert_eq!(freeze(&spec(&[])), Err(FreezeError::Empty));
    let twice = [sample(2), sample(2)].concat();
    let error = freeze(&spec(&pieces(&twice)));
    assert!(
        matches!(error, Err(FreezeError::Twice { fragment: 2 | 3 })),
        "{error:?}"
    );
    let fragments = sample(2);
    let pieces = pieces(&fragments);
    let mut far = spec(&pieces);
    far.displacement = 1 << 32;
    let error = freeze(&far);
    assert!(
        matches!(error, Err(FreezeError::Reach { fragment: 0, .. })),
        "{error:?}"
    );
    let mut long = spec(&pieces);
    let path = vec![b'x'; 5000];
    long.image_path = &path;
    assert_eq!(freeze(&long), Err(FreezeError::Text));
}

#[test]
fn code_names_no_cells_of_others() {
    let mut fragments = sample(1);
    fragments[0].fragment.slots[0] = SlotInit::Bundles(2);
    fragments[0].fragment.relocs[0].kind = RelocKind::Cell(1);
    let bytes = frozen(&fragments);
    let unit = RawUnit::new(&bytes, bytes.len() as u64).unwrap();
    let unit = unit.verify_any().unwrap();
    let group = unit.hot_group(0).unwrap();
    let mut code = vec![0; group.len as usize];
    assert_eq!(unit.fix_cells(&group, 0, 0x1000..0x1010, &mut code), Ok(1));
    assert!(
        code.windows(4)
            .any(|field| field == 0x1008_u32.to_le_bytes())
    );
    let fewer = unit.fix_cells(&group, 0, 0x1000..0x1008, &mut code);
    assert!(fewer.is_err());
    let far = unit.fix_cells(&group, 0, 0x8000_0000..0x8000_0010, &mut code);
    assert!(far.is_err(), "no instruction names it");
}

#[test]
fn a_table_that_points_outside_its_fragment_is_refused() {
    let broken: [fn(&mut ppin_relocator::Fragment); 13] = [
        |fragment| fragment.hot.resize(MAX_HOT + 1, 0x90),
        |fragment| fragment.cold.resize(MAX_COLD + 1, 0x90),
        |fragment| fragment.context = Context(1 << 16),
        |fragment| fragment.exits[0].context = Context(1 << 15),
        |fragment| fragment.source_len = 1 << 16,
        |fragment| fragment.instructions = 1 << 16,
        |fragment| fragment.exits[0].branch = 5000,
        |fragment| fragment.exits[0].branch = 42,
        |fragment| fragment.exits[0].branch = MAX_HOT as u32 + 4,
        |fragment| fragment.slots[0] = SlotInit::Cold(40),
        |fragment| fragment.slots[0] = SlotInit::Bundles(0),
        |fragment| fragment.relocs[0].at = u32::MAX,
        |fragment| fragment.relocs[0].kind = RelocKind::Cell(0),
    ];
    for (number, breaks) in broken.iter().enumerate() {
        let mut fragments = sample(2);
        breaks(&mut fragments[1].fragment);
        let error = freeze(&spec(&pieces(&fragments)));
        assert!(error.is_err(), "case {number}");
    }
}

/// More of them than one group of the index holds.
#[test]
fn fragments_with_one_head_are_told_apart_by_context() {
    let mut fragments = sample(5000);
    for (number, thawed) in fragments.iter_mut().enumerate() {
        thawed.fragment.head = ImageOff(0x1000 + 16 * (number / 3) as i32);
        thawed.fragment.context = Context([0, 1, 64][number % 3]);
    }
    let bytes = frozen(&fragments);
    let file = UnitFile::open(&bytes, None).unwrap();
    let found = |head, context| file.unit().lookup(head, Context(context)).unwrap();
    for (number, thawed) in fragments.iter().enumerate() {
        let fragment = &thawed.fragment;
        let entry = found(fragment.head, fragment.context.0).unwrap();
        assert_eq!(entry.fragment, number as u32);
    }
    for number in 0..1666 {
        let absent =
            [2, 65, u32::MAX].map(|context| found(ImageOff(0x1000 + 16 * number), context));
        assert_eq!(absent, [None; 3]);
    }
}

#[test]
fn code_that_is_not_instrumented_has_no_extras() {
    let mut fragments = sample(50);
    for thawed in &mut fragments {
        thawed.fragment.beyond = 0;
        thawed.fragment.counts.clear();
        thawed.tool.clear();
    }
    let extras = |bytes: &[u8]| {
        let at = 160 + 16 * SectionId::Extras as usize + 4;
        u32::from_le_bytes(*bytes[at..].first_chunk().unwrap())
    };
    assert_eq!(extras(&frozen(&fragments)), 0);
    fragments[49].fragment.beyond = 1;
    let bytes = frozen(&fragments);
    assert_eq!(extras(&bytes), 12 * 51);
    let file = UnitFile::open(&bytes, None).unwrap();
    assert_eq!(file.thaw_all().unwrap(), fragments);
}
