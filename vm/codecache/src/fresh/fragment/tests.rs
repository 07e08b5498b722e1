use super::*;
use crate::testing;

fn fresh(context: Context, kind: Kind, kept: bool) -> Fresh {
    let code = testing::fragment(0, 4, &[0x40], context);
    let at = (ImageId(0), AppPc(0x1000));
    let space = Space {
        hot: 0x8000,
        stubs: 0x9000,
        cold: 0x9020,
        slots: 0xa000,
    };
    Fresh::new(code, at, space, &[1, 2, 3, 4], kind, kept)
}

#[test]
fn links_lead_to_entries_of_code_that_stays_true_by_itself() {
    let entry = CachePc(0x8000);
    let linked = |context, kind| fresh(context, kind, true).may_be_linked_at(entry);
    let compared = Context::VOLATILE.with(Context::COMPARED);
    assert!(linked(Context::CANONICAL, Kind::Trace));
    assert!(linked(Context::CANONICAL, Kind::Sequence));
    assert!(linked(compared, Kind::Trace));
    assert!(!linked(Context::VOLATILE, Kind::Trace));
    assert!(!linked(Context::CANONICAL, Kind::Trap));
    let mut trace = fresh(Context::CANONICAL, Kind::Trace, true);
    assert!(!trace.may_be_linked_at(CachePc(0x8004)), "in the middle");
    trace.kill();
    assert!(!trace.may_be_linked_at(entry), "its source has changed");
}

#[test]
fn code_before_the_entry_is_where_indirect_branches_arrive() {
    let mut code = testing::fragment(0, 4, &[0x40], Context::CANONICAL);
    let made = |code: Fragment| {
        let space = Space {
            hot: 0x8004,
            ..Space::default()
        };
        let at = (ImageId(0), AppPc(0x1000));
        Fresh::new(code, at, space, &[1, 2, 3, 4], Kind::Trace, true)
    };
    let plain = made(code.clone());
    assert_eq!((plain.entry().0, plain.arrival()), (0x8004, None));
    code.entry = 11;
    let arrived_at = made(code);
    assert_eq!(
        (arrived_at.entry().0, arrived_at.arrival()),
        (0x800f, Some(0x800c))
    );
    assert!(arrived_at.may_be_linked_at(CachePc(0x800f)));
    assert!(!arrived_at.may_be_linked_at(CachePc(0x800c)));
}

#[test]
fn only_traces_sleep() {
    for (kind, sleeps) in [
        (Kind::Trap, false),
        (Kind::Sequence, false),
        (Kind::Trace, true),
    ] {
        let mut fresh = fresh(Context::CANONICAL, kind, true);
        assert!(fresh.is_in_use());
        assert_eq!(fresh.kill(), sleeps);
        assert!(!fresh.is_in_use() && !fresh.is_trap());
        fresh.wake();
        assert_eq!(fresh.is_in_use(), sleeps);
        fresh.supersede();
        fresh.wake();
        assert!(!fresh.is_in_use());
    }
}

#[test]
fn what_will_not_be_saved_keeps_its_maps_and_exits() {
    let trimmed = fresh(Context::CANONICAL, Kind::Trace, false);
    assert!(trimmed.code().slots.is_empty() && trimmed.code().relocs.is_empty());
    assert_eq!(trimmed.code().exits.len(), 1);
    assert!(trimmed.maps(0x8007, 0).is_some() && trimmed.maps(0x8008, 0).is_none());
    let whole = fresh(Context::CANONICAL, Kind::Trace, true);
    assert_eq!((whole.code_len(), whole.code().exits.len()), (8, 1));
    assert!(whole.code().hot.is_empty(), "they lie in the cache");
    // A trap is compared with what is made of the same place later.
    assert!(
        !fresh(Context::CANONICAL, Kind::Trap, false)
            .code()
            .hot
            .is_empty()
    );
}

#[test]
fn volatile_code_keeps_its_source() {
    assert_eq!(
        fresh(Context::VOLATILE, Kind::Trace, true).source(),
        [1, 2, 3, 4]
    );
    let plain = fresh(Context::CANONICAL, Kind::Trace, true);
    assert!(plain.source().is_empty());
    assert_eq!(
        plain.source_hash(),
        ppin_persist::source_hash(&[1, 2, 3, 4])
    );
}
