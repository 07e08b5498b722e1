use super::*;

fn widened(resource: u32) -> Widened {
    Widened::none(resource)
}

const DATA: u32 = c::RLIMIT_DATA;
const SPACE: u32 = c::RLIMIT_AS;

#[test]
fn the_app_is_told_what_it_has_asked_for() {
    let limit = widened(SPACE);
    limit.note([100, 200], [150, 250]);
    assert_eq!(limit.as_asked([150, 250]), [100, 200]);
    // Somebody else has set another one since.
    assert_eq!(limit.as_asked([120, 250]), [120, 250]);
    assert_eq!(Widened::get(&limit.asked), [100, 200]);
}

#[test]
fn both_limits_grow_by_what_is_ours_and_not_beyond_infinity() {
    let limit = widened(SPACE);
    assert_eq!(limit.and([10, 20], 5), [15, 25]);
    assert_eq!(limit.and([u64::MAX, u64::MAX], 5), [u64::MAX; 2]);
}

#[test]
fn a_soft_limit_that_stands_for_the_hard_one_stays() {
    assert_eq!(widened(DATA).and([0, 20], 5), [0, 25]);
    assert_eq!(widened(SPACE).and([0, 20], 5), [5, 25]);
}
