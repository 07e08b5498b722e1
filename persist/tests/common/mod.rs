//! Fragments for tests: small, of every shape that the format knows.
#![allow(dead_code, reason = "each test binary uses a part")]

use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_abi::context::Context;
use ppin_abi::spills::{SpillSet, SpillSlot};
use ppin_persist::{Key, Piece, Thawed, UnitSpec, freeze};
use ppin_relocator::{
    CountRow, Exit, Fragment, PcMap, PcRow, Reloc, RelocKind, Section, Shape, SlotInit,
    arrives_before, normalise,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashSet;

pub const KEY: Key = Key {
    image: [0x11; 32],
    engine: [0x22; 32],
    tool: [0x33; 32],
};
/// As far from the image as a unit may lie next to a library.
pub const DISPLACEMENT: i64 = 0x200_0000;
pub const PATH: &[u8] = b"/usr/lib/libexample.so.1";

/// Heads are few, so that exits often find their target in the unit.
fn offset() -> impl Strategy<Value = ImageOff> {
    prop_oneof![
        4 => (0..64i32).prop_map(|n| ImageOff(0x1000 + 16 * n)),
        1 => (-0x1000..0x10_0000i32).prop_map(ImageOff),
    ]
}

fn context() -> impl Strategy<Value = Context> {
    prop_oneof![
        3 => Just(Context::CANONICAL),
        1 => Just(Context::CONTINUATION),
        1 => Just(Context::CALLED),
    ]
}

fn code_len() -> impl Strategy<Value = usize> {
    prop_oneof![20 => 8..300usize, 2 => 2000..6000usize, 1 => 16_000..40_000usize]
}

fn slot() -> impl Strategy<Value = SlotInit> {
    prop_oneof![
        offset().prop_map(SlotInit::App),
        offset().prop_map(SlotInit::Landing),
        offset().prop_map(SlotInit::Prediction),
        Just(SlotInit::Entry),
        (1..8_u32).prop_map(SlotInit::Behind),
        Just(SlotInit::ImageCounters),
        (1..=u16::MAX).prop_map(SlotInit::Bundles),
    ]
}

fn reloc_kind(hot: usize, cold: usize, slots: usize) -> impl Strategy<Value = RelocKind> {
    prop_oneof![
        offset().prop_map(RelocKind::App),
        offset().prop_map(RelocKind::AppAbs32),
        (0..slots as u16).prop_map(RelocKind::Slot),
        (0..hot as u32).prop_map(RelocKind::Hot),
        (0..cold as u32).prop_map(RelocKind::Cold),
        any::<u16>().prop_map(RelocKind::Cell),
    ]
}

/// Hot fields at multiples of 4, each with one owner: a relocation or an exit.
fn place_fields(fragment: &mut Fragment) {
    let mut taken = HashSet::new();
    fragment
        .exits
        .retain(|exit| taken.insert((Section::Hot as u8, exit.branch)));
    fragment
        .relocs
        .retain(|reloc| taken.insert((reloc.section as u8, reloc.at)));
    // Hot code names cells, and no more than there are.
    let cells = fragment.cells().unwrap_or(0);
    fragment.relocs.retain(|reloc| match reloc.kind {
        RelocKind::Cell(n) => n < cells && reloc.section == Section::Hot,
        _ => true,
    });
}

fn any_exit(hot: usize) -> impl Strategy<Value = Exit> {
    let parts = (offset(), context(), 0..hot as u32 / 4);
    parts.prop_map(|(target, context, branch)| Exit {
        target,
        context,
        branch: 4 * branch,
    })
}

fn any_reloc(hot: usize, cold: usize, slots: usize) -> impl Strategy<Value = Reloc> {
    let in_hot = (0..hot as u32 / 4).prop_map(|at| (Section::Hot, 4 * at));
    let in_cold = (0..cold as u32 / 4).prop_map(|at| (Section::Cold, 4 * at));
    let place = prop_oneof![2 => in_hot, 1 => in_cold];
    let parts = (place, -32..12i32, reloc_kind(hot, cold, slots));
    parts.prop_map(|((section, at), pc_bias, kind)| Reloc {
        section,
        at,
        pc_bias,
        kind,
    })
}

fn pc_map(hot: usize) -> impl Strategy<Value = PcMap> {
    vec(pc_row(hot), 0..20).prop_map(|mut rows| {
        rows.sort_by_key(|row| row.hot);
        rows.into_iter().collect()
    })
}

/// Often where other fragments begin, so that exits find side entrances.
fn pc_row(hot: usize) -> impl Strategy<Value = PcRow> {
    let app = prop_oneof![0..900u32, (0..16u32).prop_map(|n| 16 * n)];
    let parts = (0..hot as u32, app, spill_set(), 0..4u8);
    parts.prop_map(|(hot, app, spilled, flags)| PcRow {
        hot,
        app,
        spilled,
        flags,
    })
}

/// Registers in some slots, rarely the same ones.
fn spill_set() -> impl Strategy<Value = SpillSet> {
    let slot = (0..8usize, prop_oneof![0..4u8, 5..16u8]);
    vec(slot, 0..3).prop_map(|lying| {
        lying.into_iter().fold(
            SpillSet::NONE,
            |set, (slot, register)| match SpillSlot::new(slot) {
                Some(slot) if set.slot_of(register).is_none() => set.with(slot, register),
                _ => set,
            },
        )
    })
}

fn count_row(hot: usize) -> impl Strategy<Value = CountRow> {
    let parts = (0..hot as u32, 0..512u32, any::<bool>(), 0..900u32, 1..64u32);
    parts.prop_map(|(done, counter, image, app, amount)| CountRow {
        done,
        counter,
        image,
        app,
        amount,
    })
}

pub fn fragment() -> impl Strategy<Value = Fragment> {
    (code_len(), 8..200usize, 1..5usize).prop_flat_map(|(hot, cold, slots)| {
        let code = (vec(any::<u8>(), hot), vec(any::<u8>(), cold));
        let tables = (
            vec(slot(), slots),
            vec(any_reloc(hot, cold, slots), 0..12),
            vec(any_exit(hot), 0..5),
            pc_map(hot),
            prop_oneof![Just(Vec::new()), vec(count_row(hot), 0..6)],
        );
        let shape = any::<u8>().prop_map(Shape);
        let sizes = ((1..900u32, 0..200u32), 1..64u32, any::<u8>(), shape);
        (offset(), context(), sizes, code, tables).prop_map(
            |(head, context, (source, instructions, entry, shape), (hot, cold), tables)| {
                let source_len = source.0;
                let entry = (usize::from(entry) % hot.len()) as u8;
                let entry = arrives_before(entry).map_or(0, |_| entry);
                let (slots, relocs, exits, pc_map, counts) = tables;
                let mut fragment = Fragment {
                    head,
                    context,
                    source_len,
                    beyond: source.1.min(source_len),
                    instructions,
                    shape,
                    entry,
                    hot,
                    cold,
                    slots,
                    relocs,
                    exits,
                    pc_map,
                    counts,
                };
                place_fields(&mut fragment);
                normalise(&mut fragment);
                fragment
            },
        )
    })
}

pub fn thawed() -> impl Strategy<Value = Thawed> {
    let tool = prop_oneof![2 => Just(Vec::new()), 1 => vec(any::<u8>(), 0..40)];
    (fragment(), 0..2u32, any::<u64>(), tool).prop_map(|(fragment, flags, source_hash, tool)| {
        Thawed {
            fragment,
            flags,
            source_hash,
            tool,
        }
    })
}

/// Fragments of one unit: no two for one entry point.
pub fn unit(most: usize) -> impl Strategy<Value = Vec<Thawed>> {
    vec(thawed(), 1..most).prop_map(|mut all| {
        let mut seen = HashSet::new();
        all.retain(|one| seen.insert((one.fragment.head, one.fragment.context)));
        all
    })
}

pub fn spec<'a>(pieces: &'a [Piece<'a>]) -> UnitSpec<'a> {
    UnitSpec {
        key: KEY,
        displacement: DISPLACEMENT,
        image_base: ImageBase(0x40_0000),
        image_path: PATH,
        label: b"bbcount",
        explored: false,
        entrances: true,
        fragments: pieces,
    }
}

pub fn pieces(fragments: &[Thawed]) -> Vec<Piece<'_>> {
    fragments.iter().map(Thawed::piece).collect()
}

pub fn frozen(fragments: &[Thawed]) -> Vec<u8> {
    freeze(&spec(&pieces(fragments))).unwrap()
}

/// A unit of `count` fragments without proptest, the same at every call.
pub fn sample(count: u32) -> Vec<Thawed> {
    (0..count)
        .map(|number| sample_fragment(number, count))
        .collect()
}

fn sample_fragment(number: u32, count: u32) -> Thawed {
    let head = |number: u32| ImageOff(0x1000 + 32 * (number % count) as i32);
    let hot_len = 60 + (number * 37 % 90);
    let mut fragment = Fragment {
        head: head(number * 7919 % count),
        context: Context(0),
        source_len: 24,
        beyond: number % 4,
        instructions: 6,
        shape: Shape(number as u8 % 5),
        entry: (number % 3 * 9) as u8,
        hot: (0..hot_len).map(|byte| (byte ^ number) as u8).collect(),
        cold: vec![number as u8; 72],
        slots: vec![SlotInit::App(head(number))],
        relocs: vec![
            reloc(
                Section::Hot,
                20,
                RelocKind::App(ImageOff(0x9000 + number as i32)),
            ),
            reloc(Section::Cold, 32, RelocKind::Slot(0)),
            reloc(Section::Cold, 44, RelocKind::Hot(44)),
            reloc(Section::Cold, 36, RelocKind::App(head(number))),
        ],
        exits: vec![Exit {
            target: head(number * 31 + 5),
            context: Context(0),
            branch: 40,
        }],
        pc_map: (0..6)
            .map(|row| PcRow {
                hot: 8 * row,
                app: 4 * row,
                spilled: SpillSet::at_home(2),
                flags: 1,
            })
            .collect(),
        counts: vec![CountRow {
            done: 4,
            counter: 0x100,
            image: false,
            app: 0,
            amount: 1,
        }],
    };
    normalise(&mut fragment);
    Thawed {
        fragment,
        flags: number % 2,
        source_hash: u64::from(number) << 20,
        tool: Vec::new(),
    }
}

fn reloc(section: Section, at: u32, kind: RelocKind) -> Reloc {
    Reloc {
        section,
        at,
        pc_bias: 4,
        kind,
    }
}
