use super::*;
use crate::fresh::Kind;
use crate::testing::{World, left_at, through_a_cell};

/// A jump through a cell, and the slots that it goes by.
fn jump(world: &mut World) -> (CachePc, u64) {
    let entry = world.install(through_a_cell(0), Kind::Trace);
    let entry = entry.expect("there is room");
    (entry, world.fresh(entry).space().slots)
}

fn values(first: u64) -> [u64; 2] {
    // SAFETY: slots of a fragment that stays.
    unsafe { Pair::at(first) }.values()
}

#[test]
fn a_jump_is_predicted_once_and_until_its_target_goes() {
    let mut world = World::new();
    let (from, slots) = jump(&mut world);
    let to = world.trace(0x80, 8, &[]);
    let own = world.pc(0).0.wrapping_neg();
    assert_eq!(values(slots), [own, from.0]);
    let pc = world.pc(0x80);
    let predict = |world: &mut World| world.code.predict(left_at(from), pc, to);
    assert_eq!(predict(&mut world), Some(CodeOf::Fresh));
    assert_eq!(values(slots), [pc.0.wrapping_neg(), to.0]);
    assert_eq!(world.fresh(from).site().predicted(slots), Some(to.0));
    assert_eq!(predict(&mut world), None);
    world.code.kill_made_from(pc.0, pc.0 + 1);
    assert_eq!(values(slots), [own, to.0]);
    assert_eq!(world.fresh(from).site().predicted(slots), None);
    // A thread may be on its way, for the address before.
    let (other, there) = (world.pc(0xc0), world.trace(0xc0, 8, &[]));
    assert_eq!(world.code.predict(left_at(from), other, there), None);
    assert_eq!(predict(&mut world), None);
}

#[test]
fn what_looks_like_another_slot_is_not_predicted() {
    let mut world = World::new();
    let (from, slots) = jump(&mut world);
    let own = values(slots);
    for inside in [0, 4, 8] {
        let pc = world.pc(inside);
        assert_eq!(world.code.predict(left_at(from), pc, from), None);
    }
    let pc = world.pc(0x40);
    for elsewhere in [from.0, left_at(from) - 1, left_at(from) + 1, 0] {
        assert_eq!(world.code.predict(elsewhere, pc, from), None);
    }
    assert_eq!(values(slots), own);
}

#[test]
fn with_the_cache_all_predictions_go() {
    let mut world = World::new();
    let (from, slots) = jump(&mut world);
    let (own, to) = (values(slots), world.trace(0x80, 8, &[]));
    let pc = world.pc(0x80);
    assert!(world.code.predict(left_at(from), pc, to).is_some());
    assert_eq!(world.code.fresh.predicted().count(), 1);
    world.code.fresh.flush();
    assert_eq!(values(slots), [own[0], to.0]);
    assert_eq!(world.code.fresh.predicted().count(), 0);
}
