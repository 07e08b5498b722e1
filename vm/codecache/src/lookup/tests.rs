use crate::testing::World;
use ppin_abi::spills::SpillSet;

#[test]
fn an_address_in_hot_or_cold_code_belongs_to_its_fragment() {
    let mut world = World::new();
    let (a, b) = (world.trace(0, 8, &[8, 16]), world.trace(8, 8, &[0]));
    let stubs = world.fresh(a).space().stubs;
    for at in [a.0, a.0 + 15, stubs, stubs + 53] {
        assert_eq!(world.code.hot_of(at), Some(a.0));
        assert!(world.code.in_cache(at) && !world.code.in_units(at));
        assert_eq!(world.code.base_at(at).0, world.app.start);
    }
    assert_eq!(world.code.hot_of(b.0), Some(b.0));
    assert!(!world.code.in_cache(world.app.start));
    assert_eq!(world.code.hot_of(world.app.start), None);
}

#[test]
fn a_cache_address_stands_for_an_app_instruction() {
    let mut world = World::new();
    let a = world.trace(0x40, 8, &[]);
    let spot = |at: u64| world.code.spot(a.0 + at).expect("hot code");
    assert_eq!((spot(0).pc, spot(0).boundary), (world.pc(0x40), true));
    assert_eq!((spot(3).pc, spot(3).boundary), (world.pc(0x40), false));
    assert_eq!((spot(3).spilled, spot(3).inside), (SpillSet::at_home(3), 1));
    assert_eq!((spot(4).pc, spot(4).boundary), (world.pc(0x41), true));
    assert!(world.code.spot(a.0 + 8).is_none(), "behind the hot code");
    assert!(world.code.spot(world.fresh(a).space().stubs).is_none());
}
