use super::*;
use ppin_abi::spills::SpillSet;

fn count(done: u32, app: u32, image: bool) -> CountRow {
    CountRow {
        done,
        counter: 8,
        image,
        app,
        amount: 5,
    }
}

fn maps(counts: Vec<CountRow>) -> Maps {
    let rax = SpillSet::at_home(1);
    let row = |hot, app, spilled, flags| PcRow {
        hot,
        app,
        spilled,
        flags,
    };
    Maps {
        head: AppPc(0x1000),
        context: Context::CANONICAL,
        hot: 0x8000,
        rows: alloc::vec![
            row(4, 0, rax, pc_flag::BOUNDARY | pc_flag::BLOCK),
            row(8, 0, rax, pc_flag::INSTRUCTION | pc_flag::REPEATABLE),
            row(12, 3, SpillSet::NONE, pc_flag::COMPARING),
        ],
        counts,
        counters: 0x100,
    }
}

#[test]
fn rows_say_what_is_in_place() {
    let maps = maps(Vec::new());
    let spot = |at: u64| spot_in(&maps, 0x8000 + at);
    assert!(spot(3).is_none(), "before the first row");
    let begin = spot(4).expect("a boundary");
    assert!(begin.boundary && begin.block_start && begin.repeatable);
    assert_eq!((begin.spilled, begin.inside), (SpillSet::at_home(1), 0));
    assert!(
        begin.ahead,
        "no run begins where registers are not in place"
    );
    let inside = spot(5).expect("behind it");
    assert_eq!(
        (inside.boundary, inside.repeatable, inside.spilled),
        (false, false, SpillSet::at_home(1))
    );
    assert!(spot(8).is_some_and(|s| s.repeatable) && spot(9).is_some_and(|s| !s.repeatable));
    let comparing = spot(14).expect("a comparing row");
    assert_eq!((comparing.pc, comparing.repeatable), (AppPc(0x1003), true));
    assert!(spot_in(&maps, 0x7fff).is_none());
}

#[test]
fn a_run_may_begin_where_slots_are_all_that_is_missing() {
    let mut maps = maps(Vec::new());
    maps.rows[0].flags |= pc_flag::IN_SLOTS;
    let begin = spot_in(&maps, 0x8004).expect("a boundary");
    assert!(begin.boundary && !begin.ahead && !begin.own_stack);
    assert_eq!(begin.spilled, SpillSet::at_home(1));
    maps.rows[0].flags |= pc_flag::AHEAD;
    assert!(spot_in(&maps, 0x8004).is_some_and(|spot| spot.ahead));
}

#[test]
fn counts_in_advance_are_taken_back_and_those_in_arrears_made_good() {
    // The first instruction's count comes in advance, the second's behind it.
    let maps = maps(alloc::vec![count(4, 0, false), count(12, 0, true)]);
    let at = |offset, app| corrections(&maps, offset, app);
    assert_eq!(at(3, 0), []);
    assert_eq!(at(4, 0), [(8, -5)]);
    assert_eq!(at(11, 3), [(0x108, 5)]);
    assert_eq!(at(12, 3), []);
    assert_eq!(at(12, 0), [(8, -5), (0x108, -5)]);
}

#[test]
fn a_settled_spot_owes_nothing() {
    let maps = maps(alloc::vec![count(4, 0, false)]);
    let spot = spot_in(&maps, 0x8005).expect("in the code");
    assert_eq!(
        (spot.corrections.len(), spot.spilled),
        (1, SpillSet::at_home(1))
    );
    let right = spot.put_right();
    assert_eq!(
        (right.corrections.len(), right.spilled),
        (0, SpillSet::NONE)
    );
    assert_eq!((right.pc, right.code), (spot.pc, spot.code));
    assert!(Spot::at(AppPc(7)).boundary);
}
