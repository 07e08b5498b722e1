//! Runs of a program, one after the other, with one database.

extern crate std;
use super::{at_end, freeze_image, in_passing};
use crate::testing::disk::{CODE, Disk};
use crate::testing::{NOP, RET, World};
use alloc::string::String;
use alloc::vec::Vec;
use ppin_abi::boot::flag;
use ppin_os::mem::PAGE;
use ppin_os::place;
use ppin_persist::UnitFile;
use std::path::Path;

/// `test eax, eax; jz +8; nop; ret`, and code at the jump's target; then code apart.
const BRANCH: [u8; 6] = [0x85, 0xc0, 0x74, 8, NOP, RET];
const TARGET: u64 = CODE + 12;
const APART: u64 = CODE + 0x100;

fn disk() -> Disk {
    let mut code = BRANCH.to_vec();
    code.resize(12, 0xcc);
    // nop; jmp to the code apart
    code.extend([NOP, 0xe9, 0xee, 0, 0, 0]);
    code.resize(0x100, 0xcc);
    code.extend((0..0x400).flat_map(|_| [NOP, RET]));
    Disk::new(&code)
}

/// A run that executes these traces, and ends.
fn run(disk: &Disk, offsets: &[u64]) -> World {
    let mut world = disk.run();
    for offset in offsets {
        world.look_up(*offset);
    }
    at_end(&mut world.vm);
    world
}

#[test]
fn what_a_run_has_translated_the_next_one_maps() {
    let disk = disk();
    let first = run(&disk, &[CODE, APART]);
    assert_eq!((first.compiled(), disk.units().len()), (2, 1));
    let mut second = run(&disk, &[CODE, APART]);
    assert_ne!(first.start, second.start, "it is relocated");
    let figures = second.vm.code().figures();
    assert_eq!((figures.traces_compiled, figures.units_mapped), (0, 1));
    assert_eq!(figures.traces_looked_up, 2);
    assert_eq!(disk.units().len(), 1, "nothing is new");
    let entry = second.look_up(CODE);
    let spot = second.vm.code().spot(entry.0).expect("it is in the cache");
    assert_eq!(spot.pc, second.pc(CODE));
}

/// The sequence number in the name of a unit file.
fn number(unit: &Path) -> String {
    let name = unit.file_name().and_then(|name| name.to_str());
    let number = name.and_then(|name| name.split('-').next());
    String::from(number.expect("numbered"))
}

#[test]
fn a_run_adds_what_is_new_to_a_small_unit() {
    let disk = disk();
    run(&disk, &[CODE]);
    let second = run(&disk, &[CODE, APART]);
    assert_eq!(second.compiled(), 1);
    let mut numbers: Vec<String> = disk.units().iter().map(|unit| number(unit)).collect();
    numbers.sort();
    assert_eq!(numbers, ["00000001"], "the first is in it");
    let third = run(&disk, &[CODE, APART]);
    assert_eq!(third.compiled(), 0);
}

#[test]
fn code_that_is_not_as_it_was_saved_is_translated() {
    let disk = disk();
    run(&disk, &[CODE, APART]);
    let mut world = disk.run();
    let at = world.start + CODE;
    crate::testing::write(at + 4, &[RET]);
    let entry = world.look_up(CODE);
    assert_eq!(world.compiled(), 1, "the app has another instruction there");
    assert_eq!(world.fresh(entry).code().source_len, 5);
}

#[test]
fn a_closed_library_saves_nothing() {
    let disk = disk();
    let mut world = disk.run();
    world.look_up(CODE);
    world.vm.library_mut().close();
    at_end(&mut world.vm);
    assert!(disk.units().is_empty());
    world.vm.library_mut().reopen();
    at_end(&mut world.vm);
    assert_eq!(disk.units().len(), 1);
}

#[test]
fn generated_code_is_not_saved() {
    let disk = disk();
    let mut world = disk.run();
    let other = World::read_only();
    crate::testing::write(other.start, &[RET]);
    let anywhere = ppin_abi::addr::AppPc(other.start);
    crate::lookup(
        &mut world.vm,
        anywhere,
        ppin_abi::context::Context::CANONICAL,
    );
    assert_eq!(world.compiled(), 1);
    at_end(&mut world.vm);
    assert!(disk.units().is_empty());
    let notes = &world.vm.code().figures().notes;
    assert!(notes.is_empty(), "that is no failure: {notes:?}");
}

#[test]
fn a_flush_saves_and_goes_on_with_what_was_saved() {
    let disk = disk();
    let mut world = disk.run();
    world.look_up(CODE);
    in_passing(&mut world.vm);
    let image = world.image;
    assert!(freeze_image(&mut world.vm, image).is_none(), "all is saved");
    world.vm.code_mut().flush();
    let entry = world.look_up(CODE);
    assert_eq!(world.compiled(), 1);
    assert!(world.vm.code().in_units(entry.0));
}

#[test]
fn a_full_cache_is_saved_before_it_is_flushed() {
    let disk = disk();
    let mut world = disk.run();
    world.vm.code_mut().lower_limit(64 << 10);
    for n in 0..0x400 {
        world.look_up(APART + 2 * n);
    }
    assert!(world.vm.code().figures().flushes > 0);
    let first = world.look_up(APART);
    assert!(world.vm.code().in_units(first.0));
    assert_eq!(world.compiled(), 0x400);
}

#[test]
fn what_a_sibling_has_saved_is_not_saved_again() {
    let disk = disk();
    let [mut one, mut two] = [disk.run(), disk.run()];
    for world in [&mut one, &mut two] {
        world.look_up(CODE);
    }
    two.look_up(APART);
    at_end(&mut one.vm);
    at_end(&mut two.vm);
    let mut third = disk.run();
    third.look_up(CODE);
    let image = third.image;
    let units = third.vm.code().units().of(image).iter();
    let sizes: Vec<u32> = units.map(|unit| unit.fragments()).collect();
    assert_eq!(sizes, [2]);
}

#[test]
fn a_damaged_unit_is_removed_by_the_next_writer() {
    let disk = disk();
    run(&disk, &[CODE]);
    let [unit] = &disk.units()[..] else {
        panic!("one unit");
    };
    let mut bytes = std::fs::read(unit).expect("it is ours");
    bytes[9] ^= 1;
    std::fs::write(unit, &bytes).expect("it is ours");
    let world = run(&disk, &[CODE]);
    assert_eq!(world.compiled(), 1);
    assert!(
        !world.vm.code().figures().notes.is_empty(),
        "it is said why"
    );
    assert!(!unit.exists() && disk.units().len() == 1);
    assert_eq!(run(&disk, &[CODE]).compiled(), 0);
}

#[test]
fn many_small_units_become_one() {
    let disk = disk();
    let mut most = 0;
    for n in 0..20 {
        run(&disk, &[APART + 2 * n]);
        most = most.max(disk.units().len());
    }
    assert_eq!(most, 1, "units at once");
    let all: Vec<u64> = (0..20).map(|n| APART + 2 * n).collect();
    assert_eq!(run(&disk, &all).compiled(), 0, "none is lost");
}

/// App offsets of the code in the only unit, in its order.
fn order(disk: &Disk) -> Vec<u64> {
    let [unit] = &disk.units()[..] else {
        panic!("one unit");
    };
    let bytes = std::fs::read(unit).expect("it is ours");
    let file = UnitFile::open(&bytes, None).expect("it is sound");
    let all = file.thaw_all().expect("it is sound");
    all.iter().map(|one| one.fragment.head.0 as u64).collect()
}

#[test]
fn what_a_run_has_used_comes_first_in_what_it_merges() {
    let disk = disk();
    let many: Vec<u64> = (0..450).map(|n| APART + 2 * n).collect();
    run(&disk, &many);
    assert_eq!(order(&disk), many);
    let last = many[many.len() - 1];
    let second = run(&disk, &[last, CODE]);
    let used = second.vm.code().figures().traces_reused as usize;
    assert!(used > 0 && used < many.len(), "one group of several");
    let (rest, first) = many.split_at(many.len() - used);
    // (The other side of the branch was translated, but not executed.)
    let wanted = [first, &[CODE], rest, &[TARGET]].concat();
    assert_eq!(order(&disk), wanted);
    assert_eq!(run(&disk, &many).compiled(), 0, "none is lost");
}

#[test]
fn a_large_unit_is_left_alone() {
    let disk = disk();
    let many: Vec<u64> = (0..1200).map(|n| APART + 2 * n).collect();
    run(&disk, &many);
    let large = disk.units().pop().expect("one");
    let len = std::fs::metadata(&large).expect("it is ours").len();
    assert!(len > 128 << 10, "{len} bytes are no small unit");
    for n in 1200..1204 {
        run(&disk, &[APART + 2 * n]);
        assert!(large.exists() && disk.units().len() == 2);
    }
    assert_eq!(run(&disk, &many).compiled(), 0, "none is lost");
}

#[test]
fn a_run_that_explores_adds_the_other_sides_of_branches() {
    let disk = disk();
    run(&disk, &[CODE]);
    let mut explorer = disk.run_with(flag::EXPLORE);
    explorer.look_up(CODE);
    explorer.look_up(APART);
    at_end(&mut explorer.vm);
    assert_eq!(
        explorer.compiled(),
        1,
        "what is anticipated is counted apart"
    );
    assert!(explorer.vm.code().figures().traces_anticipated > 0);
    let later = run(&disk, &[CODE, TARGET]);
    assert_eq!(later.compiled(), 0);
    let units = later.vm.code().units().of(later.image).iter();
    let exits = units.flat_map(|unit| unit.executed_exits(&[], 0));
    let mut heads: Vec<i32> = exits.map(|(head, _, _)| head.0).collect();
    heads.dedup();
    assert_eq!(heads, [CODE as i32], "the other side was not executed");
}

#[test]
fn a_run_that_explores_goes_on_with_string_code_of_earlier_runs() {
    // and ecx, 0xf00; je +8; then as the other code
    let mut code = [0x81, 0xe1, 0, 0xf, 0, 0, 0x74, 8, NOP, RET].to_vec();
    code.resize(16, 0xcc);
    code.extend([0x85, 0xc0, 0x74, 8, NOP, RET]);
    code.resize(0x400, RET);
    let disk = Disk::new(&code);
    let mut first = disk.run();
    first.look_up(CODE);
    in_passing(&mut first.vm);
    let explore = || {
        let mut explorer = disk.run_with(flag::EXPLORE);
        explorer.look_up(CODE);
        at_end(&mut explorer.vm);
        explorer.vm.code().figures().traces_anticipated
    };
    assert!(explore() > 0);
    let (aside, beyond) = (CODE + 16, CODE + 16 + 12);
    assert_eq!(run(&disk, &[CODE, aside, beyond]).compiled(), 0);
    assert_eq!(explore(), 0, "nothing is left");
}

#[test]
fn code_is_saved_before_it_is_unmapped() {
    let disk = disk();
    let mut world = disk.run();
    world.look_up(CODE);
    let (start, end) = (world.start, world.start + crate::testing::PAGES * PAGE);
    crate::changes::range(&mut world.vm, start, start + PAGE);
    assert!(disk.units().is_empty(), "a part of the image is left");
    crate::changes::range(&mut world.vm, start, end);
    assert_eq!(disk.units().len(), 1);
    assert_eq!(run(&disk, &[CODE]).compiled(), 0);
}

#[test]
fn copies_of_a_unit_are_removed_when_there_are_many() {
    let disk = disk();
    run(&disk, &[CODE]);
    let unit = disk.units().pop().expect("one");
    for n in 1..=40 {
        let copy = unit.with_file_name(alloc::format!("{n:08x}-{n:016x}.unit"));
        std::fs::copy(&unit, copy).expect("it is ours");
    }
    assert_eq!(run(&disk, &[CODE, APART]).compiled(), 1);
    assert!(disk.units().len() <= 3, "{} are left", disk.units().len());
    assert_eq!(run(&disk, &[CODE, APART]).compiled(), 0);
}

#[test]
fn units_are_placed_where_small_ones_lie() {
    for extent in [0, 1 << 20, 128 << 20] {
        let (near, far) = place::distances(extent);
        let from = ppin_persist::SMALL_FROM as u64;
        assert!(near >= from && far <= from + (448 << 20), "{extent:#x}");
    }
}

#[test]
fn a_unit_lies_within_reach_of_its_image() {
    let disk = disk();
    run(&disk, &[CODE]);
    let mut world = run(&disk, &[CODE]);
    let entry = world.look_up(CODE);
    let (_, unit) = world.vm.code().unit_at(entry.0).expect("it is kept");
    let (near, far) = place::distances(crate::testing::PAGES * PAGE);
    let distance = world.start - unit.range().0;
    assert!(
        distance < far + near && unit.range().1 <= world.start,
        "{distance:#x}"
    );
}
