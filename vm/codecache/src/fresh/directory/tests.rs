use super::*;
use crate::fresh::Kind;
use crate::fresh::arena::Space;
use crate::testing;
use ppin_os::mem::PAGE;

const PC: u64 = 0x50_0000;
const CANONICAL: Context = Context::CANONICAL;

fn fresh(offset: u64, len: u64, kind: Kind, image: u32) -> Fresh {
    let code = testing::fragment(offset, len, &[], CANONICAL);
    let at = (ImageId(image), AppPc(PC + offset));
    Fresh::new(code, at, Space::default(), &[], kind, true)
}

fn trace(offset: u64, len: u64) -> Fresh {
    fresh(offset, len, Kind::Trace, 0)
}

#[test]
fn a_trace_is_found_by_address_and_context() {
    let mut directory = Directory::default();
    let id = directory.add(trace(8, 4));
    assert_eq!(directory.get(AppPc(PC + 8), CANONICAL), Some(id));
    assert_eq!(directory.get(AppPc(PC + 8), Context::VOLATILE), None);
    assert_eq!(directory.get(AppPc(PC + 9), CANONICAL), None);
    assert_eq!(
        (directory.len(), directory.fragment(id).pc()),
        (1, AppPc(PC + 8))
    );
}

#[test]
fn a_trap_is_found_only_by_what_it_is() {
    let mut directory = Directory::default();
    let code = testing::trap(0, 1);
    let at = (ImageId(0), AppPc(PC));
    let trap = Fresh::new(code.clone(), at, Space::default(), &[], Kind::Trap, false);
    let id = directory.add(trap);
    assert_eq!(directory.get(AppPc(PC), CANONICAL), None);
    assert_eq!(directory.same(AppPc(PC), &code), Some(id));
    assert_eq!(directory.same(AppPc(PC), &testing::trap(0, 2)), None);
    assert_eq!(directory.same(AppPc(PC + 1), &code), None);
    directory.kill(id);
    assert_eq!(directory.same(AppPc(PC), &code), None);
    assert_eq!(directory.dormant(AppPc(PC), CANONICAL), None);
}

#[test]
fn a_killed_trace_sleeps_and_is_woken() {
    let mut directory = Directory::default();
    let id = directory.add(trace(0, 4));
    directory.kill(id);
    let found = |d: &Directory| (d.get(AppPc(PC), CANONICAL), d.dormant(AppPc(PC), CANONICAL));
    assert_eq!(found(&directory), (None, Some(id)));
    assert!(!directory.is_source(PC, PC + 4));
    directory.wake(id);
    assert_eq!(found(&directory), (Some(id), None));
    assert_eq!(directory.take(PC, PC + 1), [id]);
}

#[test]
fn of_several_that_sleep_at_one_address_the_last_may_be_woken() {
    let mut directory = Directory::default();
    let first = directory.add(trace(0, 4));
    directory.kill(first);
    let second = directory.add(trace(0, 5));
    assert_eq!(directory.dormant(AppPc(PC), CANONICAL), Some(first));
    directory.kill(second);
    assert_eq!(directory.dormant(AppPc(PC), CANONICAL), Some(second));
    directory.kill(first);
    assert_eq!(directory.dormant(AppPc(PC), CANONICAL), Some(second));
}

#[test]
fn a_sequence_is_dead_once_it_is_killed() {
    let mut directory = Directory::default();
    let id = directory.add(fresh(0, 4, Kind::Sequence, 0));
    assert_eq!(directory.get(AppPc(PC), CANONICAL), Some(id));
    directory.kill(id);
    assert_eq!(directory.get(AppPc(PC), CANONICAL), None);
    assert_eq!(directory.dormant(AppPc(PC), CANONICAL), None);
}

#[test]
fn killing_an_older_one_leaves_the_newer_one_of_the_same_address() {
    let mut directory = Directory::default();
    let (older, newer) = (directory.add(trace(0, 4)), directory.add(trace(0, 4)));
    directory.kill(older);
    assert_eq!(directory.get(AppPc(PC), CANONICAL), Some(newer));
}

#[test]
fn those_made_from_a_range_are_taken_however_they_lie_to_pages() {
    let mut directory = Directory::default();
    let across = directory.add(trace(PAGE - 2, 4));
    let before = directory.add(trace(PAGE - 8, 6));
    let behind = directory.add(trace(PAGE + 2, 4));
    let far = directory.add(trace(5 * PAGE, 4));
    assert!(directory.is_source(PC + PAGE, PC + PAGE + 1));
    assert_eq!(directory.take(PC + PAGE, PC + PAGE + 1), [across]);
    assert_eq!(directory.take(PC, PC + 2 * PAGE), [across, before, behind]);
    for id in [across, before, behind] {
        directory.kill(id);
    }
    assert!(!directory.is_source(PC, PC + 4 * PAGE));
    assert_eq!(directory.take(0, !(PAGE - 1)), [far]);
}

#[test]
fn a_range_between_two_fragments_of_a_page_takes_none() {
    let mut directory = Directory::default();
    directory.add(trace(0, 4));
    directory.add(trace(8, 4));
    assert!(!directory.is_source(PC + 4, PC + 8));
    assert!(directory.take(PC + 4, PC + 8).is_empty());
    assert_eq!(directory.take(PC + 3, PC + 9).len(), 2);
}

#[test]
fn images_know_their_fragments_in_the_order_they_were_made() {
    let mut directory = Directory::default();
    let ids: Vec<FragmentId> = [(0, 2), (8, 0), (16, 2)]
        .map(|(offset, image)| directory.add(fresh(offset, 4, Kind::Trace, image)))
        .into();
    let of = |image| {
        let all = directory.of_image(ImageId(image));
        all.map(|(id, _)| id).collect::<Vec<_>>()
    };
    assert_eq!(
        (of(2), of(1), of(3)),
        (alloc::vec![ids[0], ids[2]], Vec::new(), Vec::new())
    );
}

#[test]
fn string_code_is_what_was_marked_when_it_was_new() {
    let mut directory = Directory::default();
    directory.mark_string_code();
    let ids = [0, 8, 16].map(|offset| {
        let id = directory.add(trace(offset, 4));
        if offset != 8 {
            directory.mark_string_code();
        }
        id
    });
    assert_eq!(
        ids.map(|id| directory.is_string_code(id)),
        [true, false, true]
    );
}

#[test]
fn what_was_reached_and_what_is_saved_is_known_of_traces_alone() {
    let mut directory = Directory::default();
    let first = directory.add(trace(0, 4));
    let sequence = directory.add(fresh(8, 4, Kind::Sequence, 0));
    let last = directory.add(trace(16, 4));
    directory.mark_reached(first, Reached::Indirectly);
    directory.mark_anticipated(1);
    let unsaved = |d: &Directory, id| d.unsaved(id);
    assert_eq!(unsaved(&directory, first), Some(Reached::Indirectly));
    assert_eq!(unsaved(&directory, sequence), None);
    assert_eq!(unsaved(&directory, last), Some(Reached::Never));
    // Asleep or awake, what was saved stays so.
    directory.mark_saved(first);
    directory.kill(first);
    directory.wake(first);
    assert_eq!(unsaved(&directory, first), None);
    directory.kill(last);
    assert_eq!(unsaved(&directory, last), None);
    directory.wake(last);
    assert_eq!(unsaved(&directory, last), Some(Reached::Never));
    assert!(directory.has_unsaved());
    directory.mark_all_saved();
    assert_eq!(unsaved(&directory, last), None);
    assert!(!directory.has_unsaved());
    let new = directory.add(trace(24, 4));
    assert_eq!(unsaved(&directory, new), Some(Reached::Directly));
    assert!(directory.has_unsaved());
}

#[test]
fn code_in_the_middle_of_a_trace_is_found_in_the_nearest_one() {
    let mut directory = Directory::default();
    let far = directory.add(trace(0, 8));
    let inside = |directory: &mut Directory| directory.side_entrance(AppPc(PC + 1));
    assert!(directory.holds(AppPc(PC + 1)) && !directory.holds(AppPc(PC)));
    let led_to = |directory: &Directory| directory.fragment(far).entrances().count();
    assert_eq!(led_to(&directory), 1, "nobody is about to lead there");
    assert_eq!(inside(&mut directory), Some(CachePc(4)));
    assert_eq!(directory.side_entrance(AppPc(PC)), None, "that is its head");
    assert_eq!(
        directory.side_entrance(AppPc(PC + 2)),
        None,
        "in an instruction"
    );
    let entrances: Vec<u64> = directory.fragment(far).entrances().collect();
    assert_eq!(entrances, [4, 0]);
    directory.kill(far);
    assert_eq!(inside(&mut directory), None);
}

#[test]
fn what_is_no_plain_trace_is_not_entered_in_the_middle() {
    let mut directory = Directory::default();
    directory.add(fresh(0, 8, Kind::Sequence, 0));
    let code = testing::fragment(0, 8, &[], Context::VOLATILE);
    let at = (ImageId(0), AppPc(PC));
    directory.add(Fresh::new(
        code,
        at,
        Space::default(),
        &[],
        Kind::Trace,
        true,
    ));
    assert_eq!(directory.side_entrance(AppPc(PC + 1)), None);
}
