//! Runs that let nothing of an image run at the start, to see what they ask for.
//!
//! What a plan lets run, and no run needs, costs every start as much as to ask for what is needed; and what
//! was let run is not asked for, so it cannot be told whether it was needed. Plans take in what half of the
//! runs ask for, as far as that is known. When one has grown by half since it was known of all of it, some
//! runs let nothing run at once.

use alloc::vec::Vec;
use ppin_os::time;
use ppin_persist::start::{self, UnitPlan};

/// Number of runs that are watched, one after the other: what only the first one has asked for is a
/// quarter's need then.
const RUNS: u8 = 3;
/// Fewer groups than that are not worth it, whether they are needed or not.
const LEAST: u32 = 4;
/// One of so many is watched, so that no user waits each time.
const ONE_OF: u64 = 8;

/// Whether it is this run's turn, if a plan wants one watched.
pub(super) fn is_turn() -> bool {
    // (The lowest bits may always be the same.)
    (time::ticks() >> 8).is_multiple_of(ONE_OF)
}

/// Says in the parts of the `next` plan of one image what is to be watched; `old` is the last one, and this
/// run may have been `watched`.
pub(super) fn note<'a>(
    next: impl Iterator<Item = &'a mut UnitPlan>,
    old: impl Iterator<Item = &'a UnitPlan>,
    watched: bool,
) {
    let next: Vec<&mut UnitPlan> = next.collect();
    let groups = next.iter().map(|part| start::count(&part.eager)).sum();
    let last = old.map(|part| (part.settled, part.watches));
    let last = last.reduce(|one, other| (one.0.max(other.0), one.1.max(other.1)));
    let (settled, watches) = following(last, groups, watched);
    for part in next {
        (part.settled, part.watches) = (settled, watches);
    }
}

/// What follows on [`UnitPlan::settled`] and [`UnitPlan::watches`] of the last plan, when the next one lets so
/// many groups run.
fn following(last: Option<(u32, u8)>, groups: u32, watched: bool) -> (u32, u8) {
    match last {
        None | Some((0, 0)) => (groups, 0),
        Some((settled, 0)) => {
            let has_grown = groups > settled.saturating_add(LEAST.max(settled / 2));
            (settled, if has_grown { RUNS } else { 0 })
        }
        Some((_, 1)) if watched => (groups, 0),
        Some((settled, watches)) => (settled, watches - u8::from(watched)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_has_grown_by_half_is_watched_until_it_is_known() {
        let mut last = None;
        let mut step = |groups, watched, wanted| {
            let next = following(last, groups, watched);
            assert_eq!(next, wanted);
            last = Some(next);
        };
        step(10, false, (10, 0));
        step(15, false, (10, 0));
        step(16, false, (10, RUNS));
        step(20, false, (10, RUNS));
        for left in (1..RUNS).rev() {
            step(18, true, (10, left));
            step(18, false, (10, left));
        }
        step(12, true, (12, 0));
        step(18, false, (12, 0));
    }

    #[test]
    fn a_few_groups_are_not_worth_it() {
        assert_eq!(following(Some((1, 0)), 1 + LEAST, false), (1, 0));
        assert_eq!(following(Some((1, 0)), 2 + LEAST, false), (1, RUNS));
    }
}
