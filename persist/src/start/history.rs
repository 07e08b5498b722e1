//! Which runs have asked for a group of code.

use crate::VerifiedUnit;
use alloc::vec::Vec;
use rkyv::{Archive, Deserialize, Serialize};

/// Of the last runs that could tell: which of them have asked for a group. (What was let run at once is not
/// asked for, so such a run cannot tell.)
///
/// A bit for each run, the last one lowest; above them a bit that says where they end.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub struct History(u8);

impl History {
    /// No run could tell.
    pub const UNKNOWN: Self = Self(1);
    /// Number of runs that are remembered.
    pub const MOST: u32 = 7;

    /// So many runs could tell, and none has asked.
    #[must_use]
    pub const fn unasked(runs: u32) -> Self {
        Self(1 << if runs < Self::MOST { runs } else { Self::MOST })
    }

    /// With one more run, which has `asked` or not. The first one is forgotten if there are too many.
    #[must_use]
    pub const fn after(self, asked: bool) -> Self {
        const ALL: u8 = 1 << History::MOST;
        let full = self.0 & ALL;
        Self((self.0 << 1) | asked as u8 | full)
    }

    /// The last run has asked after all, if it is `asked`.
    #[must_use]
    pub const fn amended(self, asked: bool) -> Self {
        if self.runs() == 0 {
            return self.after(asked);
        }
        Self(self.0 | asked as u8)
    }

    /// Number of runs that could tell.
    #[must_use]
    pub const fn runs(self) -> u32 {
        Self::MOST.saturating_sub(self.0.leading_zeros())
    }

    const fn asked(self) -> u32 {
        self.0.count_ones().saturating_sub(1)
    }

    /// Whether the last run that could tell has asked.
    #[must_use]
    pub const fn is_last(self) -> bool {
        self.runs() > 0 && self.0 & 1 != 0
    }

    /// The share of runs that have asked, in parts of 420.
    #[must_use]
    pub const fn share(self) -> u32 {
        /// A multiple of all numbers up to [`History::MOST`].
        const WHOLE: u32 = 420;
        match self.runs() {
            0 => 0,
            runs => self.asked() * WHOLE / runs,
        }
    }

    /// Whether half of the runs have asked: to let code run at once takes half as long as to be asked for it.
    #[must_use]
    pub const fn is_usual(self) -> bool {
        self.asked() > 0 && 2 * self.asked() >= self.runs()
    }

    /// Histories of the groups of a unit whose fragments have these, by their numbers.
    #[must_use]
    pub fn of_groups(unit: &VerifiedUnit<'_>, fragment: impl Fn(u32) -> Self) -> Vec<Self> {
        let groups = (0..unit.hot_groups()).map_while(|number| unit.hot_group(number));
        let all = groups.map(|group| group.fragments.map(&fragment));
        all.map(|all| all.fold(Self::UNKNOWN, Self::or)).collect()
    }

    /// The one of which the larger share has asked; of two alike, the one of more runs.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let weight = |it: Self| (it.share(), it.runs());
        if weight(other) > weight(self) {
            other
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// After these runs.
    fn of(runs: &[bool]) -> History {
        let after = |history: History, asked: &bool| history.after(*asked);
        runs.iter().fold(History::UNKNOWN, after)
    }

    #[test]
    fn what_half_of_the_runs_ask_for_is_usual() {
        assert!(!History::UNKNOWN.is_usual());
        assert!(of(&[true]).is_usual());
        assert!(of(&[false, true]).is_usual());
        assert!(!of(&[false, false, true]).is_usual());
        assert!(!History::unasked(9).is_usual());
    }

    #[test]
    fn a_run_that_goes_on_amends_what_it_has_said() {
        let first = of(&[true, false]);
        assert_eq!(first.amended(true), of(&[true, true]));
        assert_eq!(first.amended(false), first);
        assert_eq!(History::UNKNOWN.amended(true), of(&[true]));
    }

    #[test]
    fn of_two_the_one_that_was_asked_for_more_often_counts() {
        let (rare, usual) = (of(&[true, false, false]), of(&[true, false]));
        assert_eq!((rare.or(usual), usual.or(rare)), (usual, usual));
        let none = History::unasked(3);
        assert_eq!(
            (none.or(History::UNKNOWN), History::UNKNOWN.or(none)),
            (none, none)
        );
    }

    proptest! {
        #[test]
        fn the_last_runs_count(runs in prop::collection::vec(any::<bool>(), 0..20)) {
            let last = &runs[runs.len().saturating_sub(History::MOST as usize)..];
            let asked = last.iter().filter(|asked| **asked).count() as u32;
            let history = of(&runs);
            prop_assert_eq!(history, of(last));
            prop_assert_eq!((history.runs(), history.asked()), (last.len() as u32, asked));
            prop_assert_eq!(history.is_usual(), asked > 0 && 2 * asked as usize >= last.len());
        }

        #[test]
        fn any_byte_is_one(byte: u8, asked: bool) {
            let history = History(byte);
            prop_assert!(history.share() <= 420 * History::MOST);
            prop_assert!(history.after(asked).runs() <= History::MOST);
        }

        #[test]
        fn none_has_asked_for_what_was_not_there(runs in 0..20u32) {
            let none = History::unasked(runs);
            prop_assert_eq!((none.share(), none.runs()), (0, runs.min(History::MOST)));
        }
    }
}
