use super::*;
use crate::cache::CodeCache;
use crate::fresh::Kind;
use crate::testing::{World, fragment};
use crate::unit::Shelf;
use alloc::collections::BTreeMap;
use ppin_abi::addr::CachePc;
use ppin_abi::context::Context;
use ppin_relocator::{Reloc, RelocKind, Section, SlotInit};

const FIRST: u64 = 0x2000;
const COUNTERS: u64 = 0x1000;

fn row(done: u32, counter: u32, amount: u32) -> CountRow {
    CountRow {
        done,
        counter,
        image: true,
        app: 0,
        amount,
    }
}

/// The code names cell `n` in a field of its own.
fn names(n: u16) -> Reloc {
    Reloc {
        section: Section::Hot,
        at: 4 * u32::from(n),
        pc_bias: 4,
        kind: RelocKind::Cell(n),
    }
}

/// The cells that the code of [`counting`] at `entry` names.
fn named(entry: CachePc) -> [u32; 2] {
    // SAFETY: eight bytes of code.
    unsafe { (entry.0 as *const [u32; 2]).read_unaligned() }
}

/// A fragment whose two blocks count 3 in counter 0 and 5 in counter 1, and 7 in counter 1.
fn counting(offset: u64) -> Fragment {
    let mut code = fragment(offset, 8, &[], Context::CANONICAL);
    code.slots.push(SlotInit::Bundles(2));
    code.relocs = [0, 1].map(names).into();
    let global = CountRow {
        image: false,
        ..row(4, 0, 100)
    };
    code.counts = [
        row(2, 0, 1),
        row(2, 8, 5),
        row(2, 0, 2),
        global,
        row(6, 8, 7),
    ]
    .into();
    code
}

fn world(cells: u32) -> World {
    let mut world = World::new();
    world.code.provide_cells(FIRST, cells);
    world.code.images.get_mut(world.image).counters = COUNTERS;
    world
}

/// What the counters are if each cell holds what `held` says.
fn folded(code: &CodeCache, held: impl Fn(u64) -> u64) -> BTreeMap<u64, u64> {
    let mut sums = BTreeMap::new();
    code.fold(held, |counter, count| {
        *sums.entry(counter).or_default() += count;
    });
    sums
}

/// The first cell of the fragment at `entry`, from its slot.
fn cell_of(world: &World, entry: CachePc) -> u64 {
    // SAFETY: the fragment's only slot.
    unsafe { (world.fresh(entry).space().slots as *const u64).read() }
}

#[test]
fn each_fragment_has_cells_of_its_own_and_their_counts_are_multiplied_out() {
    let mut world = world(1 << 20);
    let entries = [0, 0x40].map(|offset| world.install(counting(offset), Kind::Trace).unwrap());
    let cells = entries.map(|entry| cell_of(&world, entry));
    assert_eq!(cells, [FIRST, FIRST + 16]);
    assert_eq!(entries.map(named), [[0x2000, 0x2008], [0x2010, 0x2018]]);
    assert_eq!(world.code.cells(), FIRST..FIRST + 32);
    let held = |cell| [10, 20, 0, 1000][((cell - FIRST) / 8) as usize];
    let want = [(COUNTERS, 30), (COUNTERS + 8, 10 * 5 + 20 * 7 + 1000 * 7)];
    assert_eq!(folded(&world.code, held), want.into());
    assert_eq!(folded(&world.code, |_| 0), BTreeMap::new());
}

#[test]
fn what_was_counted_outlasts_the_code() {
    let mut world = world(1 << 20);
    world.install(counting(0), Kind::Trace).unwrap();
    world.code.flush();
    let entry = world.install(counting(0), Kind::Trace).unwrap();
    assert_eq!(cell_of(&world, entry), FIRST + 16, "no cell is used again");
    let want = [(COUNTERS, 2 * 3), (COUNTERS + 8, 2 * (5 + 7))];
    assert_eq!(folded(&world.code, |_| 1), want.into());
}

#[test]
fn counts_are_bundled_while_any_fragment_can_have_its_cells() {
    let most = MAX_TRACE_BYTES as u32;
    let mut world = world(most + 2);
    assert!(world.code.may_bundle());
    world.install(counting(0), Kind::Trace).unwrap();
    assert!(!world.code.may_bundle());
    let mut plainly = counting(0x40);
    plainly.slots.clear();
    let refused = world.install(plainly, Kind::Trace).unwrap();
    assert!(
        world.fresh(refused).code().relocs.is_empty(),
        "not to be saved"
    );
}

/// A shelf with kept code that counts at 0.
fn shelf(cells: u32) -> Shelf {
    let mut shelf = Shelf::holding(&[
        (counting(0), 0),
        (fragment(0x40, 8, &[], Context::CANONICAL), 0),
    ]);
    shelf.world.code.provide_cells(FIRST, cells);
    shelf.world.code.images.get_mut(shelf.world.image).counters = COUNTERS;
    shelf
}

#[test]
fn kept_code_counts_even_when_it_is_unmapped() {
    let mut shelf = shelf(2);
    let entry = shelf.find(0).expect("kept");
    assert_eq!(shelf.value(0), FIRST);
    assert_eq!(named(entry), [0x2000, 0x2008]);
    let want = BTreeMap::from([(COUNTERS, 3), (COUNTERS + 8, 5 + 7)]);
    assert_eq!(folded(&shelf.world.code, |_| 1), want);
    let app = &shelf.world.app;
    let (start, end) = (app.start, app.start + app.len);
    shelf.world.code.gone(start, end);
    assert!(shelf.units().is_empty());
    assert_eq!(folded(&shelf.world.code, |_| 1), want);
}

#[test]
fn kept_code_is_refused_when_there_are_no_cells_left() {
    let mut shelf = shelf(1);
    assert_eq!(shelf.find(0), None);
    assert!(shelf.world.code.figures.notes.join("").contains("no cells"));
    assert_eq!(folded(&shelf.world.code, |_| 1), BTreeMap::new());
}
