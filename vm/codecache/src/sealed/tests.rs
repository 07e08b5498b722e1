use super::*;
use crate::exit::CodeOf;
use crate::fresh::Kind;
use crate::testing::{World, fragment, left_sealed_at, passes_on, through_a_sealed_cell};
use ppin_abi::context::Context;
use ppin_os::mem::PAGE;

/// Offsets of two cells of the world, each on a page of its own.
const CELLS: [u64; 2] = [4 * PAGE, 6 * PAGE];

/// A world, a jump through the first cell, which leads to app offset 0x80, and the code for that.
fn world() -> (World, CachePc, CachePc) {
    let mut world = World::new();
    let from = world.install(through_a_sealed_cell(off(CELLS[0])), Kind::Trace);
    let to = world.trace(0x80, 8, &[]);
    fill(&world, world.pc(0x80));
    (world, from.expect("there is room"), to)
}

fn off(at: u64) -> ppin_abi::addr::ImageOff {
    ppin_abi::addr::ImageOff(at as i32)
}

fn fill(world: &World, target: AppPc) {
    let cell = world.pc(CELLS[0]).0;
    world.app.write(cell, &target.0.to_le_bytes());
}

fn seal(world: &mut World, page: u64) {
    let start = world.pc(page).0;
    world.code.seal_cells(start, start + PAGE);
}

/// Asks where the jump at `from` leads, of which is said that it is `to`.
fn ask(world: &mut World, from: CachePc, to: CachePc) -> Option<CodeOf> {
    let target = world.pc(0x80);
    world.code.predict(left_sealed_at(from), target, to)
}

/// Where the jump at `from` goes.
fn goes(world: &World, from: CachePc) -> u64 {
    let slots = world.fresh(from).space().slots;
    // SAFETY: slots of a fragment that stays.
    unsafe { Pair::at(slots) }.values()[0]
}

#[test]
fn a_jump_goes_where_its_cell_leads_while_that_is_sealed() {
    let (mut world, from, to) = world();
    let behind = from.0 + 8;
    assert_eq!(ask(&mut world, from, to), None, "anybody may write to it");
    seal(&mut world, CELLS[0]);
    assert_eq!(ask(&mut world, from, to), Some(CodeOf::Fresh));
    assert_eq!(goes(&world, from), to.0);
    let slots = world.fresh(from).space().slots;
    assert_eq!(world.fresh(from).site().predicted(slots), Some(to.0));
    assert_eq!(ask(&mut world, from, to), None, "it does already");
    let cell = world.pc(CELLS[0]).0;
    world.code.unseal_cells(cell + PAGE, cell + 2 * PAGE);
    assert_eq!(goes(&world, from), to.0);
    world.code.unseal_cells(cell + PAGE - 1, cell + PAGE);
    assert_eq!(goes(&world, from), behind);
    assert_eq!(world.fresh(from).site().predicted(slots), None);
    assert_eq!(ask(&mut world, from, to), None);
    seal(&mut world, CELLS[0]);
    assert_eq!(ask(&mut world, from, to), Some(CodeOf::Fresh));
}

#[test]
fn a_cell_that_leads_elsewhere_is_not_believed() {
    let (mut world, from, to) = world();
    seal(&mut world, CELLS[0]);
    fill(&world, world.pc(0xc0));
    assert_eq!(ask(&mut world, from, to), None);
    fill(&world, world.pc(0x80));
    assert!(ask(&mut world, from, to).is_some());
    let cell = world.pc(CELLS[0]).0;
    for (start, end, stays) in [
        (cell - 8, cell, true),
        (cell + 8, cell + 16, true),
        (cell + 7, cell + 8, false),
    ] {
        world.code.cells_changed(start, end);
        assert_eq!(goes(&world, from) == to.0, stays, "{start:#x} {end:#x}");
    }
    assert!(ask(&mut world, from, to).is_some(), "it is sealed yet");
}

#[test]
fn with_its_target_or_all_code_a_jump_goes_back() {
    let (mut world, from, to) = world();
    let target = world.pc(0x80).0;
    seal(&mut world, CELLS[0]);
    assert!(ask(&mut world, from, to).is_some());
    world.code.kill_made_from(target, target + 1);
    assert_eq!(goes(&world, from), from.0 + 8);
    let to = world.trace(0x80, 8, &[]);
    assert!(ask(&mut world, from, to).is_some());
    world.code.flush();
    assert!(world.code.sealed.led.is_empty());
}

#[test]
fn of_an_image_the_first_range_is_taken() {
    let (mut world, from, to) = world();
    seal(&mut world, CELLS[1]);
    seal(&mut world, CELLS[0]);
    assert_eq!(ask(&mut world, from, to), None);
    let part = world.code.sealed_part(world.image);
    assert!(part.holds_word(off(CELLS[1])) && !part.holds_word(off(CELLS[0])));
    // What belongs to no image is nothing.
    world.code.seal_cells(PAGE, 2 * PAGE);
    assert_eq!(world.code.sealed.parts.len(), 1);
}

#[test]
fn what_earlier_runs_have_seen_waits_for_the_seal() {
    let (mut world, from, to) = world();
    let slots = world.fresh(from).space().slots;
    // SAFETY: slots of a fragment that stays.
    let slots = unsafe { Pair::at(slots) };
    let target = world.pc(0x80);
    world.code.lead_as_seen(slots, target, to);
    assert_eq!(goes(&world, from), from.0 + 8);
    seal(&mut world, CELLS[0]);
    assert_eq!(goes(&world, from), to.0);
    // What has been seen may not be true any more.
    let cell = world.pc(CELLS[0]).0;
    world.code.unseal_cells(cell, cell + 8);
    world.code.lead_as_seen(slots, target, to);
    fill(&world, world.pc(0xc0));
    seal(&mut world, CELLS[0]);
    assert_eq!(goes(&world, from), from.0 + 8);
    world.code.unseal_cells(cell, cell + 8);
    world.code.lead_as_seen(slots, target, to);
    world.code.kill_made_from(target.0, target.0 + 1);
    assert!(world.code.sealed.awaited.is_empty());
}

#[test]
fn calls_are_passed_on_to_code_that_is_entered_by_calls() {
    let (mut world, plain, to) = world();
    let from = world.install(passes_on(off(CELLS[0])), Kind::Trace);
    let from = from.expect("there is room");
    let site = left_sealed_at(from) - 2;
    let target = world.pc(0x80);
    assert_eq!(world.code.passes_on(site), None, "it is not sealed");
    seal(&mut world, CELLS[0]);
    assert_eq!(world.code.passes_on(site), Some(target));
    assert_eq!(world.code.passes_on(left_sealed_at(plain)), None);
    let callee = fragment(0x80, 8, &[], Context::CALLED);
    let callee = world.install(callee, Kind::Trace).expect("there is room");
    // Each goes to what expects it.
    assert_eq!(ask(&mut world, plain, callee), None);
    assert_eq!(world.code.predict(site, target, to), None);
    assert!(ask(&mut world, plain, to).is_some());
    assert!(world.code.predict(site, target, callee).is_some());
    assert_eq!(goes(&world, from), callee.0);
    assert_eq!(world.code.passes_on(site), None, "it does already");
}
