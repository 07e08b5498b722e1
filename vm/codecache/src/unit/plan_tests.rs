//! Runs one after the other, with a start plan between them.

use super::shelf::{Shelf, large, small};
use crate::exit::CodeOf;
use crate::testing::{left_at, through_a_cell};
use alloc::vec::Vec;
use ppin_abi::addr::CachePc;
use ppin_persist::paths::START;
use ppin_persist::start::{self, UnitPlan};

extern crate std;
use std::fs;

/// A run that has used the first and the last of the groups, and none between them.
fn used() -> Shelf {
    let mut shelf = Shelf::holding(&[large(0, &[]), large(0x40, &[])]);
    shelf.find(0).expect("kept");
    shelf.find(0x40).expect("kept");
    shelf.save_plan();
    shelf
}

/// Groups of the unit.
const GROUPS: u64 = 2;

fn reused(shelf: &Shelf) -> u64 {
    shelf.world.code.figures.traces_reused
}

fn runs(shelf: &Shelf, entry: CachePc) -> bool {
    shelf.world.code.running_maps(entry.0).is_some()
}

#[test]
fn what_a_run_has_used_is_let_run_at_once_by_the_next() {
    let first = used();
    assert_eq!(reused(&first), GROUPS);
    let mut next = first.again();
    next.find(0).expect("kept");
    assert_eq!(reused(&next), GROUPS, "all with the first");
    assert!(runs(&next, next.entry(0x40)));
    assert!(next.notes().is_empty(), "{}", next.notes());
}

#[test]
fn a_run_that_uses_what_is_planned_leaves_the_plan_alone() {
    let mut next = used().again();
    let before = fs::metadata(next.path(START)).expect("there is a plan");
    next.find(0).expect("kept");
    next.save_plan();
    let after = fs::metadata(next.path(START)).expect("it stays");
    use std::os::unix::fs::MetadataExt;
    assert_eq!(before.ino(), after.ino());
}

/// Offsets of code in groups of their own, of which the first run uses few.
fn many() -> impl Iterator<Item = u64> {
    (0..16).map(|n| 0x40 * n)
}

fn use_all(shelf: &mut Shelf) {
    for offset in many() {
        shelf.find(offset).expect("kept");
    }
}

/// Parts of the plan as it is on disk.
fn plan(shelf: &mut Shelf) -> Vec<UnitPlan> {
    let bytes = fs::read(shelf.path(START)).expect("there is a plan");
    start::decode(&bytes).expect("it is sound")
}

/// Runs of which each uses what lies at offset 0, until none is watched.
fn watched(mut shelf: Shelf) -> Shelf {
    while plan(&mut shelf)[0].watches > 0 {
        shelf = shelf.again();
        shelf.library.set_turn(true);
        shelf.find(0).expect("kept");
        assert_eq!(reused(&shelf), 1, "nothing that nobody asks for");
        shelf.save_plan();
    }
    shelf
}

/// Groups that are let run at the start, by unit.
fn eager(shelf: &mut Shelf) -> Vec<u32> {
    let plan = plan(shelf);
    plan.iter().map(|part| start::count(&part.eager)).collect()
}

/// Of many groups the first run has used one, and the second one all.
fn grown() -> Shelf {
    let pieces: Vec<_> = many().map(|offset| large(offset, &[])).collect();
    let mut shelf = Shelf::holding(&pieces);
    shelf.find(0).expect("kept");
    shelf.save_plan();
    shelf = shelf.again();
    use_all(&mut shelf);
    assert!(shelf.world.code.wants_plan());
    shelf.save_plan();
    shelf
}

#[test]
fn what_half_of_the_runs_ask_for_is_let_run_at_once() {
    let mut shelf = grown();
    assert_eq!(eager(&mut shelf), [16]);
    let mut next = shelf.again();
    next.find(0).expect("kept");
    assert_eq!(reused(&next), 16, "it is not this run's turn to be watched");
    assert!(!next.world.code.wants_plan());
}

#[test]
fn runs_are_watched_to_find_what_was_let_run_in_vain() {
    let mut shelf = watched(grown());
    assert_eq!(eager(&mut shelf), [1]);
    for outgrown in [true, false] {
        shelf = shelf.again();
        use_all(&mut shelf);
        assert_eq!(shelf.world.code.wants_plan(), outgrown);
        shelf.save_plan();
        assert!(!shelf.world.code.wants_plan(), "it was said");
    }
    assert_eq!(eager(&mut shelf), [1], "two of six runs");
}

#[test]
fn a_run_is_counted_once() {
    let mut shelf = used();
    let before = plan(&mut shelf)[0].histories.clone();
    assert!(before.iter().all(|history| history.runs() == 1));
    shelf.world.code.figures.learnt = 100;
    shelf.save_plan();
    assert_eq!(plan(&mut shelf)[0].histories, before);
}

#[test]
fn a_unit_of_which_a_plan_lets_nothing_run_is_opened_when_it_is_needed() {
    let mut shelf = Shelf::holding(&[large(0, &[])]);
    shelf.find(0).expect("kept");
    shelf.save_plan();
    let others: Vec<_> = many().skip(1).map(|offset| large(offset, &[])).collect();
    let other = shelf.freeze(&others);
    shelf.publish(1, &other);
    shelf = shelf.again();
    use_all(&mut shelf);
    shelf.save_plan();
    shelf = watched(shelf);
    assert_eq!(eager(&mut shelf), [1, 0]);
    shelf = shelf.again();
    shelf.find(0).expect("kept");
    assert_eq!(shelf.units().len(), 1, "one is enough so far");
    shelf.find(0x40).expect("kept, too");
    let [_, late] = shelf.units() else {
        panic!("there are two");
    };
    assert!(
        !late.planned.sound.is_empty(),
        "it need not be verified again"
    );
}

#[test]
fn what_is_learnt_again_although_a_plan_names_it_is_nothing_new_the_next_time() {
    let mut shelf = used();
    for outgrown in [true, false] {
        shelf = shelf.again();
        shelf.find(0).expect("kept");
        shelf.world.code.figures.learnt = 100;
        assert_eq!(shelf.world.code.wants_plan(), outgrown);
        shelf.save_plan();
    }
    shelf = shelf.again();
    shelf.find(0).expect("kept");
    shelf.world.code.figures.learnt = 200;
    assert!(shelf.world.code.wants_plan(), "more is new");
}

#[test]
fn a_forked_child_says_what_it_uses_beyond_its_parent() {
    let pieces: Vec<_> = many().map(|offset| large(offset, &[])).collect();
    let mut shelf = Shelf::holding(&pieces);
    shelf.find(0).expect("kept");
    shelf.world.code.figures.learnt = 100;
    shelf.world.code.leave_to_parent();
    assert!(!shelf.world.code.wants_plan());
    use_all(&mut shelf);
    assert!(shelf.world.code.wants_plan());
}

#[test]
fn planned_code_whose_source_has_changed_does_not_run() {
    let mut next = used().again();
    let pc = next.world.pc(0x44);
    next.world.app.write(pc.0, &[1]);
    next.find(0).expect("its own source is as it was");
    assert!(!runs(&next, next.entry(0x40)));
    assert_eq!(next.find(0x40), None);
    // Nor does the plan of that run say that it would.
    next.save_plan();
    let mut third = next.again();
    third.find(0).expect("kept");
    assert!(!runs(&third, third.entry(0x40)));
}

#[test]
fn code_put_off_limits_is_not_let_run_by_a_plan() {
    let mut next = used().again();
    let start = next.world.pc(0x40).0;
    next.world
        .code
        .images_mut()
        .put_off_limits(start, start + 8);
    next.find(0).expect("kept");
    assert!(!runs(&next, next.entry(0x40)));
    assert_eq!(next.find(0x40), None);
}

#[test]
fn damage_to_a_planned_unit_is_noticed_by_its_state() {
    let mut next = used().again();
    let path = next.unit_path(0);
    let mut bytes = fs::read(&path).expect("it is ours");
    let modified = fs::metadata(&path).and_then(|meta| meta.modified());
    let hot = next_hot(&bytes);
    bytes[hot] ^= 1;
    fs::write(&path, &bytes).expect("it is ours");
    let file = fs::File::open(&path).expect("it is ours");
    file.set_modified(modified.expect("known")).expect("ours");
    assert_eq!(next.find(0), None, "its checksum does not match");
    assert!(next.units()[0].is_damaged());
    next.find(0x40).expect("the other group is sound");
}

/// Place of the first byte of code in a unit file.
fn next_hot(bytes: &[u8]) -> usize {
    let geometry = ppin_persist::Geometry::peek(bytes, bytes.len() as u64);
    geometry.expect("sound").hot.start as usize
}

#[test]
fn a_copy_of_a_planned_unit_is_verified_again() {
    let mut next = used().again();
    let path = next.unit_path(0);
    let bytes = fs::read(&path).expect("it is ours");
    fs::remove_file(&path).expect("it is ours");
    fs::write(&path, bytes).expect("the folder is ours");
    next.find(0).expect("kept");
    assert_eq!(reused(&next), GROUPS, "what it is of use for stays");
    assert!(next.units()[0].planned.sound.is_empty());
    next.save_plan();
    let mut third = next.again();
    third.find(0).expect("kept");
    assert!(!third.units()[0].planned.sound.is_empty());
}

#[test]
fn a_plan_for_a_unit_that_has_gone_is_of_no_use_and_no_harm() {
    let mut next = used().again();
    let path = next.unit_path(0);
    fs::remove_file(&path).expect("it is ours");
    let bytes = next.freeze(&[small(0, &[])]);
    next.publish(1, &bytes);
    next.find(0).expect("kept in another unit");
    assert_eq!(next.find(0x40), None);
}

#[test]
fn a_damaged_plan_is_said_and_done_without() {
    let mut next = used().again();
    let path = next.path(START);
    let mut bytes = fs::read(&path).expect("it is ours");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&path, bytes).expect("it is ours");
    next.find(0).expect("kept");
    assert!(next.notes().contains(START), "{}", next.notes());
    next.save_plan();
    let plan = fs::read(&path).expect("written anew");
    assert!(start::decode(&plan).is_some());
}

#[test]
fn exits_to_other_units_are_linked_at_the_start_of_the_next_run() {
    let mut shelf = Shelf::new();
    let units = [
        shelf.freeze_for(-0x6000_0000, &[small(0, &[0x40])]),
        shelf.freeze_for(-0x5000_0000, &[small(0x40, &[])]),
    ];
    for (seq, bytes) in (0..).zip(&units) {
        shelf.publish(seq, bytes);
    }
    shelf.find(0).expect("kept");
    let target = shelf.find(0x40).expect("kept");
    shelf.link(0, target);
    assert_eq!(shelf.slot(0), target.0);
    shelf.world.code.figures.learnt = 100;
    shelf.save_plan();
    let mut next = shelf.again();
    next.find(0).expect("kept");
    let entry = next.units()[1].hot();
    assert_eq!(next.slot(0), entry);
    // The link goes with the code that it leads to.
    let pc = next.world.pc(0x40).0;
    next.world.code.written(pc, pc + 8);
    assert_ne!(next.slot(0), entry);
}

#[test]
fn jumps_that_were_predicted_are_so_in_the_next_run() {
    let mut shelf = Shelf::new();
    let units = [
        shelf.freeze_for(-0x6000_0000, &[(through_a_cell(0), 0)]),
        shelf.freeze_for(-0x5000_0000, &[small(0x40, &[])]),
    ];
    for (seq, bytes) in (0..).zip(&units) {
        shelf.publish(seq, bytes);
    }
    let from = shelf.find(0).expect("kept");
    let (pc, to) = (shelf.world.pc(0x40), shelf.find(0x40).expect("kept"));
    let code = &mut shelf.world.code;
    assert_eq!(code.predict(left_at(from), pc, to), Some(CodeOf::Unit));
    code.figures.learnt = 100;
    shelf.save_plan();
    let mut next = shelf.again();
    next.find(0).expect("kept");
    let from = next.entry(0);
    let predicted = |shelf: &Shelf| {
        let unit = &shelf.units()[0];
        let slots = unit.addr + unit.geometry.slots.start;
        let image = shelf.world.code.images.get(shelf.world.image);
        let site = unit.site(from.0, image.base).expect("it runs");
        site.predicted(slots)
    };
    assert_eq!(predicted(&next), Some(next.units()[1].hot()));
    assert_eq!(next.world.code.figures.jumps_predicted, 1);
    // The next plan says the same, and the prediction goes with the code that it leads to.
    let links = next.world.code.links_of_units();
    let kept = next
        .world
        .code
        .predictions_of(next.world.image, &next.units()[0], &links, &[]);
    assert_eq!((kept.len(), kept[0].target, kept[0].head), (1, 0x40, 0));
    next.world.code.written(pc.0, pc.0 + 8);
    assert_eq!(predicted(&next), None);
}

#[test]
fn entries_that_indirect_branches_have_reached_are_known_to_the_next_run() {
    let mut shelf = Shelf::holding(&[small(0, &[]), small(0x40, &[])]);
    shelf.find(0).expect("kept");
    let (pc, entry) = (shelf.world.pc(0x40), shelf.entry(0x40));
    shelf.world.code.link_indirect(pc, entry);
    shelf.world.code.figures.learnt = 100;
    shelf.save_plan();
    let mut next = shelf.again();
    next.find(0).expect("kept");
    let known: Vec<_> = next.world.code.ibl.entries().collect();
    assert_eq!(known, [(pc.0, next.entry(0x40).0)]);
}
