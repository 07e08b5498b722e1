//! The other sides of branches.

use crate::target::Target;
use alloc::vec::Vec;
use ppin_abi::addr::ImageOff;

/// Bytes within which code counts as near: loops over the slots of a hash table, the last
/// bytes of a string, another attempt.
pub const NEAR: u32 = 256;

/// Where executed traces of earlier runs may lead and nothing is translated yet, the nearest
/// to new traces first: what went another way once in a function will do so at its other
/// branches. `exits` tells the head of a trace and a place that it leads to; `heads` are those
/// of the new traces, ascending.
pub fn siblings(
    heads: &[ImageOff],
    exits: impl Iterator<Item = (ImageOff, Target)>,
    is_known: impl Fn(&Target) -> bool,
) -> Vec<Target> {
    let new = exits.filter(|(_, target)| !is_known(target));
    let mut found: Vec<(u32, Target)> = new
        .map(|(head, target)| (distance(heads, head), target))
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(_, target)| target).collect()
}

/// To the nearest of the ascending `heads`.
fn distance(heads: &[ImageOff], head: ImageOff) -> u32 {
    let at = heads.partition_point(|other| *other < head);
    let around = heads[at.saturating_sub(1)..].iter().take(2);
    let distances = around.map(|other| other.0.abs_diff(head.0));
    distances.min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppin_abi::context::Context;

    fn target(off: i32) -> Target {
        Target {
            off: ImageOff(off),
            context: Context::CANONICAL,
        }
    }

    #[test]
    fn the_nearest_head_counts() {
        let heads = [10, 100, 1000].map(ImageOff);
        for (head, expected) in [
            (0, 10),
            (10, 0),
            (60, 40),
            (54, 44),
            (990, 10),
            (2000, 1000),
        ] {
            assert_eq!(distance(&heads, ImageOff(head)), expected, "{head}");
        }
    }

    #[test]
    fn unknown_places_come_nearest_first_and_once_for_each_distance() {
        let exits = [(500, 1), (90, 2), (90, 3), (90, 2), (101, 4)];
        let exits = exits.map(|(head, off)| (ImageOff(head), target(off)));
        let found = siblings(&[ImageOff(100)], exits.into_iter(), |t| t.off.0 == 3);
        assert_eq!(found, [target(4), target(2), target(1)]);
        let extremes = [(i32::MIN, 1), (i32::MAX, 2)];
        let extremes = extremes.map(|(head, off)| (ImageOff(head), target(off)));
        let found = siblings(&[ImageOff(i32::MAX)], extremes.into_iter(), |_| false);
        assert_eq!(found, [target(2), target(1)]);
    }
}
