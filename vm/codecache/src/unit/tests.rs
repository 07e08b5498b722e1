//! What becomes of kept code: see [`super::shelf`].

use super::shelf::{CANONICAL, Shelf, large, small};
use crate::fresh::Kind;
use crate::testing::{FILE, fragment};
use alloc::vec::Vec;
use ppin_abi::addr::{AppPc, CachePc, ImageOff};
use ppin_abi::boot::flag;
use ppin_abi::context::Context;
use ppin_images::ImageId;
use ppin_os::mem::PAGE;
use ppin_persist::{SlotValue, unit_flag};
use ppin_relocator::{ARRIVAL, Reloc, RelocKind, Section};

extern crate std;

pub(super) const INT3: u8 = 0xcc;

#[test]
fn kept_code_is_mapped_at_the_first_question_and_runs_once_it_is_compared() {
    let mut shelf = Shelf::holding(&[small(0, &[0x40]), small(0x40, &[])]);
    let (a, b) = (
        shelf.find(0).expect("kept"),
        shelf.find(0x40).expect("kept"),
    );
    let code = &shelf.world.code;
    assert!(code.in_units(a.0) && code.in_cache(b.0) && code.fresh_at(a.0).is_none());
    assert_eq!(code.base_at(a.0).0, shelf.world.app.start);
    assert_eq!(
        code.spot(b.0).map(|s| (s.pc, s.boundary)),
        Some((shelf.world.pc(0x40), true))
    );
    let figures = &code.figures;
    assert_eq!(
        (
            figures.units_mapped,
            figures.traces_reused,
            figures.traces_looked_up
        ),
        (1, 2, 2)
    );
    assert_eq!((figures.fragments_validated, figures.notes.len()), (2, 0));
    // Linked in the file, in one unit.
    assert_eq!(shelf.branch(0), b.0);
    assert_eq!(shelf.find(0x80), None);
}

#[test]
fn kept_code_is_for_plain_contexts_only() {
    let mut continued = small(0, &[]);
    continued.0.context = Context::CONTINUATION;
    let mut shelf = Shelf::holding(&[continued]);
    assert_eq!(shelf.find(0), None);
    assert_eq!(shelf.find_under(0, Context::VOLATILE), None);
    assert!(shelf.find_under(0, Context::CONTINUATION).is_some());
}

#[test]
fn a_group_whose_source_has_changed_is_refused_and_the_others_are_not() {
    let mut shelf = Shelf::holding(&[large(0, &[0x40]), large(0x40, &[0])]);
    shelf.world.app.write(shelf.world.pc(0x44).0, &[1]);
    assert_eq!(shelf.find(0x40), None);
    assert!(!shelf.units()[0].is_damaged() && !shelf.notes().is_empty());
    let a = shelf.find(0).expect("its own source is as it was");
    // The refusal came first: the link in the file was taken back with the admission.
    assert_eq!(shelf.branch(0), shelf.stub(0));
    assert!(shelf.world.code.running_maps(a.0).is_some());
}

#[test]
fn links_of_the_file_into_a_refused_group_are_taken_back_at_the_first_fault() {
    let mut shelf = Shelf::holding(&[large(0, &[0x40]), large(0x40, &[0])]);
    shelf.find(0).expect("kept");
    let target = shelf.branch(0);
    shelf.world.app.write(shelf.world.pc(0x44).0, &[1]);
    // A thread follows the link and faults.
    assert!(!shelf.world.code.admit(target));
    let (pc, context) = shelf.world.code.entry_of_refused(target);
    assert_eq!((pc, context), (shelf.world.pc(0x40), CANONICAL));
    assert_eq!(shelf.branch(0), shelf.stub(0));
    assert!(shelf.world.code.running_maps(target).is_none());
}

/// Two threads follow the link at once, and the second comes when it is taken back.
#[test]
fn where_a_link_led_is_known_though_the_table_of_fragments_is_damaged() {
    const RECORD: usize = 48;
    let far = 5 * PAGE;
    let mut all = alloc::vec![large(0, &[far]), large(0x20, &[])];
    // So many that the records of the first and the last are not verified together.
    let many = ppin_persist::GROUP / RECORD;
    all.extend((0..many as u64).map(|n| small(PAGE + 16 * n, &[])));
    all.extend([large(0x40, &[]), large(far, &[])]);
    let mut shelf = Shelf::new();
    let mut bytes = shelf.freeze(&all);
    let section = 160 + 16 * ppin_persist::SectionId::Fragments as usize;
    let at = u32::from_le_bytes(*bytes[section..].first_chunk().expect("whole")) as usize;
    bytes[at + RECORD * (all.len() - 1)] ^= 1;
    shelf.publish(0, &bytes);
    shelf.find(0).expect("its record is as it was");
    let target = shelf.branch(0);
    assert!(!shelf.world.code.admit(target));
    for _ in 0..2 {
        let entry = shelf.world.code.entry_of_refused(target);
        assert_eq!(entry, (shelf.world.pc(far), CANONICAL));
        assert_eq!(shelf.branch(0), shelf.stub(0));
    }
}

#[test]
fn killed_code_is_not_found_and_stops_who_comes_by_a_link() {
    let mut wanted = small(0x40, &[0]);
    wanted.1 = unit_flag::INDIRECT_TARGET;
    let mut shelf = Shelf::holding(&[small(0, &[0x40]), wanted]);
    let (a, b) = (
        shelf.find(0).expect("kept"),
        shelf.find(0x40).expect("kept"),
    );
    let tag = shelf.world.pc(0x40).0;
    assert_eq!(
        shelf.world.code.found(tag),
        Some(b.0),
        "known from earlier runs"
    );
    assert_eq!(shelf.world.code.indirect_misses(), 0);
    let fresh = shelf.world.trace(0x80, 8, &[0x40]);
    shelf.world.link(fresh, 0, b);
    assert!(
        shelf.world.code.kill_made_from(tag, tag + 1).is_empty(),
        "no fresh code has died"
    );
    assert_eq!(shelf.world.leads(fresh, 0), None);
    assert_eq!(shelf.world.code.found(tag), None);
    assert_eq!((shelf.byte(b), shelf.find(0x40)), (INT3, None));
    assert!(shelf.units()[0].is_killed(b.0) && !shelf.units()[0].is_killed(a.0));
    assert!(shelf.world.code.running_maps(b.0).is_none());
    assert!(
        shelf.world.code.maps_at(b.0).is_some(),
        "a thread may still be in it"
    );
    assert_eq!(shelf.find(0), Some(a));
}

#[test]
fn kept_code_is_entered_behind_where_indirect_branches_arrive() {
    const BEFORE: u8 = 3;
    let mut wanted = small(0x40, &[0]);
    wanted.0.hot.resize(16, 0x90);
    wanted.0.entry = ARRIVAL + BEFORE;
    let mut shelf = Shelf::holding(&[small(0, &[0x40]), wanted]);
    let (a, b) = (
        shelf.find(0).expect("kept"),
        shelf.find(0x40).expect("kept"),
    );
    let arrival = b.0 - u64::from(BEFORE);
    assert_eq!(shelf.branch(0), b.0, "links lead to the entry");
    let of = |entry: CachePc| shelf.units()[0].arrival(entry.0);
    assert_eq!((of(a), of(b)), (None, Some(arrival)));
    assert_eq!(of(CachePc(arrival)), None);
    let tag = shelf.world.pc(0x40).0;
    shelf.world.code.kill_made_from(tag, tag + 1);
    assert_eq!((shelf.byte(b), shelf.find(0x40)), (INT3, None));
    assert!(shelf.units()[0].is_killed(b.0));
    assert!(shelf.world.code.running_maps(arrival).is_none());
}

#[test]
fn exits_of_kept_code_are_linked_by_their_slots() {
    let mut shelf = Shelf::holding(&[small(0, &[0x80])]);
    shelf.find(0).expect("kept");
    let stub = shelf.stub(0);
    let (branch, unlinked) = (shelf.branch(0), shelf.slot(0));
    assert_eq!(branch, stub);
    let fresh = shelf.world.trace(0x80, 8, &[]);
    shelf.link(0, fresh);
    assert_eq!((shelf.branch(0), shelf.slot(0)), (branch, fresh.0));
    let pc = shelf.world.pc(0x80).0;
    shelf.world.code.kill_made_from(pc, pc + 1);
    assert_eq!(shelf.slot(0), unlinked);
}

#[test]
fn an_exit_that_was_never_linked_leads_into_its_stub_when_it_is_taken() {
    let mut shelf = Shelf::holding(&[small(0, &[0x80]), small(0x40, &[0x90])]);
    let entry = shelf.find(0).expect("kept");
    let stubs = [0, 0x40].map(|head| shelf.branch(head));
    let slots = [0, 0x40].map(|head| shelf.slot(head));
    assert_ne!(slots[0], slots[1]);
    assert!(slots.iter().all(|bits| SlotValue::decode(*bits).is_some()));
    let code = &mut shelf.world.code;
    assert_eq!(code.leave_unlinked(stubs[0]), Some(stubs[0] + 6));
    assert_eq!(
        code.leave_unlinked(stubs[0]),
        Some(stubs[0]),
        "it leads there now"
    );
    for other in [stubs[0] + 6, stubs[1] + 1, entry.0, 0] {
        assert_eq!(code.leave_unlinked(other), None);
    }
    let leads = |shelf: &Shelf| [shelf.slot(0), shelf.slot(0x40)];
    assert_eq!(
        leads(&shelf),
        stubs.map(|stub| stub + 6),
        "nor do its neighbours"
    );
}

#[test]
fn slots_of_code_that_does_not_run_stay_as_they_can_be_verified() {
    let closed = 0x40;
    let mut shelf = Shelf::holding(&[large(0, &[0x80]), large(closed, &[0x80])]);
    shelf.find(0).expect("kept");
    let (stub, before) = (shelf.branch(0), shelf.slot(closed));
    shelf
        .world
        .code
        .leave_unlinked(stub)
        .expect("it was never taken");
    assert_eq!(shelf.slot(closed), before);
    shelf.find(closed).expect("sound");
    assert_eq!(shelf.notes(), "");
}

#[test]
fn what_others_have_written_since_is_found_when_it_is_looked_for_again() {
    let mut shelf = Shelf::holding(&[small(0, &[])]);
    shelf.find(0).expect("kept");
    let look_again = |shelf: &mut Shelf, seq, offset| {
        let bytes = shelf.freeze(&[small(offset, &[])]);
        shelf.publish(seq, &bytes);
        assert_eq!(shelf.find(offset), None, "nobody has looked");
        let pc = shelf.world.pc(0);
        let Shelf { world, library, .. } = shelf;
        world.code.look_again(library, [pc, pc].into_iter());
        shelf.find(offset).is_some()
    };
    assert!(look_again(&mut shelf, 1, 0x80));
    assert_eq!(shelf.units().len(), 2);
    // Where nothing more may be mapped, nothing is.
    shelf.world.code.admit_all();
    assert!(!look_again(&mut shelf, 2, 0x100));
    assert_eq!(shelf.units().len(), 2);
}

#[test]
fn no_exit_faults_once_all_is_admitted() {
    let mut shelf = Shelf::holding(&[small(0, &[0x80])]);
    shelf.find(0).expect("kept");
    shelf.world.code.admit_all();
    assert_eq!(shelf.slot(0), shelf.branch(0) + 6);
}

#[test]
fn with_its_image_a_unit_goes_and_nothing_leads_there_any_more() {
    let mut shelf = Shelf::holding(&[small(0, &[0x80])]);
    let a = shelf.find(0).expect("kept");
    // Code of an image that stays: it lies elsewhere.
    let other = Shelf::new().world.app;
    let stays = crate::testing::add(&mut shelf.world.code, &other);
    let fragment = fragment(0, 8, &[0], CANONICAL);
    let code = &mut shelf.world.code;
    let room = code.make_room(stays, &fragment, crate::Manner::default());
    let at = (stays, AppPc(other.start));
    let fresh = code.install(room.expect("room"), at, fragment, &[0; 8], Kind::Trace);
    let fresh = code.fragment(fresh).entry();
    shelf.world.link(fresh, 0, a);
    shelf.link(0, fresh);
    shelf.world.code.link_indirect(shelf.world.pc(0), a);
    let (start, end) = (
        shelf.world.app.start,
        shelf.world.app.start + shelf.world.app.len,
    );
    shelf.world.code.gone(start, end);
    assert!(shelf.units().is_empty() && !shelf.world.code.in_cache(a.0));
    assert_eq!(shelf.world.leads(fresh, 0), None);
    assert_eq!(shelf.world.code.found(start), None);
    // The slot in the unit is not written to: it is not there any more.
    shelf
        .world
        .code
        .kill_made_from(other.start, other.start + 1);
}

#[test]
fn a_unit_that_lies_elsewhere_has_its_distances_to_the_app_put_right() {
    let mut shelf = Shelf::with_flags(flag::FORBID_PREFERRED);
    let (mut code, flags) = small(0, &[]);
    code.relocs.push(Reloc {
        section: Section::Hot,
        at: 4,
        pc_bias: 4,
        kind: RelocKind::App(ImageOff(0x123)),
    });
    let bytes = shelf.freeze(&[(code, flags)]);
    shelf.publish(0, &bytes);
    let a = shelf.find(0).expect("kept");
    let preferred = shelf.world.app.start - 0x6000_0000;
    assert_ne!(a.0, preferred);
    assert_eq!(shelf.world.code.figures.relocations_applied, 1);
    // SAFETY: within the unit's mapping.
    let distance = unsafe { ((a.0 + 4) as *const i32).read() };
    let at = (a.0 + 8).wrapping_add_signed(i64::from(distance));
    assert_eq!(at, shelf.world.pc(0x123).0);
}

#[test]
fn a_unit_lies_where_it_was_laid_out_for_if_that_is_free() {
    let mut shelf = Shelf::holding(&[small(0, &[])]);
    let a = shelf.find(0).expect("kept");
    assert_eq!(a.0, shelf.world.app.start - 0x6000_0000);
    assert_eq!(shelf.world.code.figures.relocations_applied, 0);
    assert_eq!(shelf.world.code.ranges().count(), 1);
}

#[test]
fn damage_is_refused_and_the_file_named() {
    let mut shelf = Shelf::new();
    let whole = shelf.freeze(&[small(0, &[])]);
    let mut hot = whole.clone();
    let geometry = ppin_persist::Geometry::peek(&whole, whole.len() as u64).expect("sound");
    hot[geometry.hot.start as usize] ^= 1;
    // (With the checksum of another it would pass for a copy.)
    let mut head = shelf.freeze(&[small(0x40, &[])]);
    head[64] ^= 1;
    shelf.publish(0, &hot);
    shelf.publish(1, &head);
    shelf.publish(2, b"");
    assert_eq!(shelf.find(0), None);
    let mut damaged = shelf.world.code.take_damaged(shelf.world.image);
    damaged.sort_unstable();
    let seqs: Vec<u32> = damaged.iter().map(|name| name.seq).collect();
    assert_eq!(seqs, [0, 1, 2], "{}", shelf.notes());
}

#[test]
fn of_copies_one_is_mapped() {
    let mut shelf = Shelf::new();
    let (one, other) = (
        shelf.freeze(&[small(0, &[])]),
        shelf.freeze(&[small(0x40, &[])]),
    );
    for (seq, bytes) in [(0, &one), (1, &one), (2, &other)] {
        shelf.publish(seq, bytes);
    }
    assert!(shelf.find(0).is_some() && shelf.find(0x40).is_some());
    assert_eq!(shelf.units().len(), 2);
}

#[test]
fn kept_code_is_not_used_where_the_app_may_write_to_its_source() {
    let mut shelf = Shelf::holding(&[large(0, &[PAGE]), large(PAGE, &[])]);
    shelf.find(0).expect("nobody may write there");
    let linked = shelf.branch(0);
    // The app asks for the right to.
    let (start, end) = (shelf.world.pc(PAGE).0, shelf.world.pc(2 * PAGE).0);
    shelf.world.code.protected(start, end);
    shelf.world.app.writable = true;
    let mut entry = shelf.world.app.region();
    (entry.start, entry.end, entry.offset) = (start, end, PAGE);
    let named = shelf.world.code.images.name(&entry, Some(&FILE), false);
    assert_eq!(
        shelf.world.code.images.add(&entry, Some(FILE), named),
        shelf.world.image
    );
    assert!(
        !shelf.world.code.admit(linked),
        "no guard would tell of a store"
    );
    assert_eq!(shelf.find(PAGE), None);
    // Nor is it saved for others to find.
    shelf.world.trace(PAGE, 8, &[]);
    shelf.world.trace(0x80, 8, &[]);
    let saved: Vec<_> = shelf
        .world
        .code
        .unsaved(shelf.world.image, |_| true)
        .collect();
    assert_eq!(saved.len(), 1);
}

#[test]
fn what_was_put_off_limits_is_not_used() {
    let mut shelf = Shelf::holding(&[small(0, &[])]);
    let (start, end) = (shelf.world.pc(4).0, shelf.world.pc(5).0);
    shelf.world.code.images.put_off_limits(start, end);
    assert_eq!(shelf.find(0), None);
}

#[test]
fn everything_can_be_admitted_at_once_and_later_units_are_not_sought() {
    let mut shelf = Shelf::holding(&[large(0, &[0x40]), large(0x40, &[])]);
    shelf.find(0).expect("kept");
    let reused = |shelf: &Shelf| shelf.world.code.figures.traces_reused;
    assert_eq!(reused(&shelf), 1);
    shelf.world.code.join_all();
    assert_eq!(reused(&shelf), 2);
    shelf.world.code.admit_all();
    let late = shelf.freeze(&[small(0x80, &[])]);
    shelf.publish(1, &late);
    assert_eq!(shelf.find(0x80), None);
}

#[test]
fn code_that_names_no_other_run_is_neither_sought_nor_saved() {
    let mut shelf = Shelf::holding(&[small(0, &[])]);
    shelf.world.code.images.get_mut(shelf.world.image).naming = ppin_images::Naming::Local;
    assert_eq!(shelf.find(0), None);
    let Shelf { world, library, .. } = &mut shelf;
    assert_eq!(world.code.key_of(library, world.image), None);
    let image = world.code.images.get(ImageId(0));
    assert!(!image.may_be_kept() && image.file == Some(FILE));
}

#[test]
fn units_tell_what_they_hold_and_where_their_exits_lead() {
    let ahead = (small(0x40, &[0x80]).0, unit_flag::ANTICIPATED);
    let mut shelf = Shelf::holding(&[small(0, &[0x40, 0x80]), ahead]);
    shelf.find(0).expect("kept");
    let unit = &shelf.units()[0];
    let (off, has) = (|n| ImageOff(n), |n| unit.has(ImageOff(n), CANONICAL));
    assert_eq!(
        (has(0), has(0x40), has(0x80), unit.fragments()),
        (true, true, false, 2)
    );
    let exits: Vec<_> = unit.executed_exits(&[], 0).collect();
    let from_first = |to| (off(0), off(to), CANONICAL);
    assert_eq!(exits, [from_first(0x40), from_first(0x80)]);
    assert_eq!(unit.executed_exits(&[off(0x100)], 0x20).count(), 0);
    assert_eq!(
        unit.executed_exits(&[off(0x18), off(0x20)], 0x20).count(),
        2
    );
    assert_eq!(
        unit.exits_at(off(0x40), CANONICAL),
        [(off(0x80), CANONICAL)]
    );
    assert_eq!(unit.exits_at(off(0x80), CANONICAL), []);
    assert_eq!(unit.exits_of_code(|_| true).count(), 2);
    assert_eq!(unit.exits_of_code(|code| code.is_empty()).count(), 0);
    let (start, end) = unit.range();
    assert!(unit.contains(start) && !unit.contains(end) && end - start >= PAGE);
}

#[test]
fn an_exit_is_known_by_the_address_of_its_stub_and_by_no_other() {
    let mut shelf = Shelf::holding(&[small(0, &[0x40]), small(0x80, &[0xc0])]);
    shelf.find(0).expect("kept");
    let stubs = [0, 0x80].map(|offset| (shelf.stub(offset), shelf.world.pc(offset + 0x40)));
    assert_eq!(shelf.exit_at_every_address(), stubs);
    for nowhere in [0, 1, u64::MAX] {
        assert_eq!(shelf.world.code.exit_at(nowhere), None);
        shelf.world.code.admit_ahead(nowhere);
    }
}

#[test]
fn where_many_groups_run_the_next_one_is_admitted_ahead() {
    let groups: Vec<_> = (0..12).map(|n| large(0x40 * n, &[])).collect();
    let mut shelf = Shelf::holding(&groups);
    for n in 0..8 {
        shelf.find(0x40 * n).expect("kept");
        assert_eq!(shelf.world.code.figures.traces_reused, n + 1);
    }
    shelf.find(0x40 * 8).expect("kept");
    assert_eq!(shelf.world.code.figures.traces_reused, 10);
}

#[test]
fn a_group_is_admitted_ahead_if_it_may_run() {
    let mut shelf = Shelf::holding(&[large(0, &[]), large(0x40, &[])]);
    shelf.find(0).expect("kept");
    let reused = |shelf: &Shelf| shelf.world.code.figures.traces_reused;
    let before = reused(&shelf);
    let other = shelf.entry(0x40).0;
    shelf.world.code.admit_ahead(other);
    assert_eq!(reused(&shelf), before + 1);
    shelf.world.code.admit_ahead(other);
    assert_eq!(reused(&shelf), before + 1, "it is open");
}
