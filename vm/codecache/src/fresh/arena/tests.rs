use super::*;
use crate::testing::App;
use alloc::vec::Vec;

fn chunk(app: &App, len: u64) -> Chunk {
    let reach = (app.start, app.start + app.len);
    Chunk::near(app.start, reach, len, 0, Views::private_at).expect("there is a place")
}

fn fragment(hot: usize, cold: usize, slots: usize) -> Fragment {
    Fragment {
        hot: alloc::vec![0; hot],
        cold: alloc::vec![0; cold],
        slots: alloc::vec![ppin_relocator::SlotInit::ImageCounters; slots],
        ..Fragment::default()
    }
}

#[test]
fn stubs_lie_before_the_cold_code() {
    let app = App::new(1);
    let mut chunk = chunk(&app, GRAIN);
    let exits = crate::testing::fragment(0, 8, &[0, 8, 16], ppin_abi::context::Context::CANONICAL);
    let space = chunk.take(&exits).expect("empty so far");
    assert_eq!(space.cold - space.stubs, u64::from(stub::room(3)));
    let next = chunk.take(&fragment(8, 8, 0)).expect("nearly empty");
    assert_eq!((next.stubs, next.cold), (space.cold, space.cold));
    chunk.free();
}

#[test]
fn sections_are_aligned_apart_and_in_their_parts() {
    let app = App::new(1);
    let mut chunk = chunk(&app, GRAIN);
    let (start, end) = chunk.range();
    let (cold, slots) = (start + GRAIN / 16 * 7, start + GRAIN / 16 * 14);
    let one = chunk.take(&fragment(5, 17, 1)).expect("empty so far");
    let two = chunk.take(&fragment(33, 1, 2)).expect("nearly empty");
    assert_eq!((one.hot, one.cold, one.slots), (start, cold, slots));
    assert_eq!((two.hot, two.cold), (start + 8, cold + 20));
    assert_eq!(two.slots, slots + 8);
    assert!(chunk.contains(end - 1) && !chunk.contains(end));
    chunk.free();
}

#[test]
fn what_does_not_fit_takes_nothing() {
    let app = App::new(1);
    let mut chunk = chunk(&app, GRAIN);
    let room = (GRAIN / 16 * 7) as usize;
    let slots = (GRAIN / 8 / 8) as usize;
    // Any of the sections may be the one that is too large.
    for (hot, cold, slots) in [(room + 1, 0, 0), (8, room + 1, 0), (8, 8, slots + 1)] {
        assert_eq!(chunk.take(&fragment(hot, cold, slots)), None);
    }
    let whole = fragment(room, room, slots);
    assert_eq!(
        chunk.take(&whole).map(|space| space.hot),
        Some(chunk.range().0)
    );
    assert_eq!(chunk.take(&fragment(1, 0, 0)), None);
    chunk.free();
}

#[test]
fn a_fragment_is_found_by_its_hot_and_cold_addresses() {
    let app = App::new(1);
    let mut chunk = chunk(&app, GRAIN);
    assert_eq!(chunk.find(chunk.range().0), None);
    let spaces: Vec<Space> = (0..20)
        .map(|n| {
            let space = chunk.take(&fragment(16 + n, 40, 1)).expect("there is room");
            chunk.note(space, FragmentId(n as u32));
            space
        })
        .collect();
    for (n, space) in (0u32..).zip(&spaces) {
        for at in [space.hot, space.hot + 15, space.stubs, space.cold + 39] {
            assert_eq!(chunk.find(at), Some(FragmentId(n)));
        }
    }
    chunk.free();
}

#[test]
fn after_a_reset_nothing_is_found_and_all_room_is_there() {
    let app = App::new(1);
    let mut chunk = chunk(&app, GRAIN);
    let whole = fragment((GRAIN / 16 * 7) as usize, 8, 1);
    let space = chunk.take(&whole).expect("empty");
    chunk.note(space, FragmentId(0));
    chunk.reset();
    assert_eq!(
        (chunk.find(space.hot), chunk.find(space.cold)),
        (None, None)
    );
    assert_eq!(chunk.take(&whole), Some(space));
    chunk.free();
}

#[test]
fn views_that_cannot_be_made_are_an_error_and_leave_nothing() {
    let app = App::new(1);
    let reach = (app.start, app.start + app.len);
    let none = |_, _| Err(Errno::EACCES);
    assert_eq!(
        Chunk::near(app.start, reach, GRAIN, 0, none).err(),
        Some(Errno::EACCES)
    );
    // The place is still free.
    let chunk = chunk(&app, GRAIN);
    let first = place::candidates(app.start, GRAIN, place::NEAREST).next();
    assert_eq!(Some(chunk.range().0), first);
    chunk.free();
}
