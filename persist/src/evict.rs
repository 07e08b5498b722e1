//! Chooses what to remove when a database is larger than its limit.
//!
//! The use of an image's units is remembered by the modification time of their folder: it
//! moves when a unit is added; a run that uses units sets it anew at most once a day; and
//! a run that begins a folder, as every run of a program built anew does, sets it for all
//! the images that it uses. So libraries are never older than the programs that use them. It does not move with reads, and mount options do not matter.

use alloc::vec::Vec;

/// Default limit of a database.
pub const DEFAULT_CAP: u64 = 2 << 30;

/// Seconds in which a use is noted once.
pub const USE_NOTED: i64 = 24 * 3600;

/// The units of one image under one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// Bytes of all its units.
    pub bytes: u64,
    /// When it was last used, in seconds.
    pub used: i64,
    /// Its file is gone, or has other contents now.
    pub dead: bool,
    /// A process uses it now.
    pub needed: bool,
}

/// Whether a use at `now` is worth noting if the last one was noted at `used`. A use in the
/// future is one before the clock was set back.
#[must_use]
pub const fn is_due(used: i64, now: i64) -> bool {
    now.abs_diff(used) > USE_NOTED as u64
}

/// Of what is alive so much goes that one part in so many of the cap is free: it shall be long
/// until the next time, but what is in use shall stay.
const FREED: u64 = 32;

/// Numbers of those that go if all together are larger than `cap`: all dead ones, then those
/// used longest ago, until there is a little room. What is needed stays.
#[must_use]
pub fn choose(all: &[Candidate], cap: u64) -> Vec<usize> {
    let mut total: u64 = all.iter().map(|one| one.bytes).sum();
    if total <= cap {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..all.len()).filter(|n| !all[*n].needed).collect();
    order.sort_by_key(|n| (!all[*n].dead, all[*n].used));
    let goal = cap - cap / FREED;
    let enough = order.iter().take_while(|n| {
        let goes = all[**n].dead || total > goal;
        total -= all[**n].bytes;
        goes
    });
    enough.copied().collect()
}

/// The length of a sparse file says how far a database has grown. Writers append to it without a
/// lock, one byte for this many bytes that they write.
pub const GROWTH_UNIT: u64 = 4096;

/// Bytes to append for `written` bytes.
#[must_use]
pub const fn growth(written: u64) -> u64 {
    written.div_ceil(GROWTH_UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(bytes: u64, used: i64) -> Candidate {
        Candidate {
            bytes,
            used,
            dead: false,
            needed: false,
        }
    }

    #[test]
    fn nothing_goes_below_the_cap() {
        assert!(choose(&[one(40, 1), one(60, 2)], 100).is_empty());
        assert!(choose(&[], 0).is_empty());
    }

    #[test]
    fn dead_ones_go_first_then_the_oldest() {
        let dead = Candidate {
            dead: true,
            ..one(30, 9)
        };
        let all = [one(30, 2), one(30, 1), dead, one(30, 8)];
        assert_eq!(choose(&all, 110), [2]);
        assert_eq!(choose(&[dead, dead, one(30, 1)], 80), [0, 1]);
        assert_eq!(choose(&all, 80), [2, 1]);
        assert_eq!(choose(&all, 0), [2, 1, 0, 3]);
    }

    #[test]
    fn what_is_needed_stays() {
        let needed = Candidate {
            needed: true,
            ..one(90, 0)
        };
        assert_eq!(choose(&[needed, one(20, 5)], 100), [1]);
        assert!(choose(&[needed], 10).is_empty());
    }

    #[test]
    fn a_little_is_freed() {
        let all: Vec<Candidate> = (0..321).map(|n| one(1, n)).collect();
        assert_eq!(choose(&all, 320).len(), 11);
    }

    #[test]
    fn a_use_is_noted_once_a_day() {
        assert!(!is_due(1000, 1000 + USE_NOTED));
        assert!(is_due(1000, 1001 + USE_NOTED));
        assert!(is_due(10 * USE_NOTED, 1000), "the clock was set back");
    }

    #[test]
    fn every_write_counts() {
        assert_eq!(
            [growth(0), growth(1), growth(4096), growth(4097)],
            [0, 1, 1, 2]
        );
    }
}
