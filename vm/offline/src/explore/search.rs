//! One wave of places after the other.
//!
//! The caller translates a wave and says what came of it; the next wave is where that leads:
//!
//! ```text
//! while let Some(wave) = search.wave() {
//!     let codes = translate the places of the wave that are not translated yet;
//!     search.reached(codes);
//!     search.passed(where the others lead, if search.passes_known());
//! }
//! ```

use super::siblings::NEAR;
use crate::target::Target;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use ppin_abi::addr::ImageOff;
use ppin_relocator::Fragment;

/// Branches in a row behind a new trace.
const DEPTH: u32 = 6;
/// Branches in a row behind string code and siblings.
const SHORT: u32 = 4;
/// Siblings nearest to new traces, which are followed as far as those.
const NEAREST: usize = 100;

/// See the module.
#[derive(Debug)]
pub struct Search {
    stage: Stage,
    /// Siblings that are still to be followed, each for itself.
    far: vec::IntoIter<Target>,
    /// See [`Search::passes_known`].
    passes_known: bool,
    /// What has been in a wave, if nothing else ends the search.
    seen: Option<BTreeSet<Target>>,
}

/// Places that are followed together.
#[derive(Debug)]
struct Stage {
    wave: BTreeSet<Target>,
    /// Waves that it still has.
    depth: u32,
    /// Only what is near here is of interest.
    around: Option<ImageOff>,
}

impl Search {
    /// What follows the string code `strings`.
    pub fn behind_string_code<'a>(strings: impl Iterator<Item = &'a Fragment>) -> Self {
        Self::of_string_code(strings.flat_map(Target::successors).collect(), false)
    }

    /// The `places` behind string code of earlier runs, and what follows them.
    pub fn again_behind_string_code(places: impl Iterator<Item = Target>) -> Self {
        Self::of_string_code(places.collect(), true)
    }

    /// The `places` and all that they lead to.
    pub fn everywhere(places: impl Iterator<Item = Target>) -> Self {
        let mut search = Self::of_string_code(places.collect(), true);
        search.stage.depth = u32::MAX;
        search.seen = Some(BTreeSet::new());
        search
    }

    fn of_string_code(wave: BTreeSet<Target>, passes_known: bool) -> Self {
        Self {
            stage: Stage {
                wave,
                depth: SHORT,
                around: None,
            },
            far: Vec::new().into_iter(),
            passes_known,
            seen: None,
        }
    }

    /// Whether the next wave also consists of where the places lead that had a translation before
    /// this run: one may have ended halfway.
    #[must_use]
    pub const fn passes_known(&self) -> bool {
        self.passes_known
    }

    /// What follows `fresh` and the nearest of the `siblings`, which come nearest first; then
    /// each of those farther away, with what is near it.
    pub fn beside<'a>(fresh: impl Iterator<Item = &'a Fragment>, siblings: Vec<Target>) -> Self {
        let mut siblings = siblings.into_iter();
        let mut wave: BTreeSet<Target> = fresh.flat_map(Target::successors).collect();
        wave.extend(siblings.by_ref().take(NEAREST));
        Self {
            stage: Stage {
                wave,
                depth: DEPTH,
                around: None,
            },
            far: siblings,
            passes_known: false,
            seen: None,
        }
    }

    /// The next places, ascending; `None` if that was all.
    pub fn wave(&mut self) -> Option<Vec<Target>> {
        loop {
            if let Some(seen) = &mut self.seen {
                self.stage.wave.retain(|target| seen.insert(*target));
            }
            if let Some(wave) = self.stage.next() {
                return Some(wave);
            }
            let sibling = self.far.next()?;
            self.stage = Stage {
                wave: BTreeSet::from([sibling]),
                depth: SHORT,
                around: Some(sibling.off),
            };
        }
    }

    /// What the last wave consists of, as far as it has been translated in this run.
    pub fn reached<'a>(&mut self, codes: impl Iterator<Item = &'a Fragment>) {
        self.stage.wave.extend(codes.flat_map(Target::successors));
    }

    /// Where the rest of the last wave leads, if the search passes what is known.
    pub fn passed(&mut self, targets: impl Iterator<Item = Target>) {
        self.stage.wave.extend(targets);
    }
}

impl Stage {
    fn next(&mut self) -> Option<Vec<Target>> {
        self.depth = self.depth.checked_sub(1)?;
        let wave = core::mem::take(&mut self.wave);
        let near = |target: &Target| {
            self.around
                .is_none_or(|place| target.off.0.abs_diff(place.0) < NEAR)
        };
        let wanted: Vec<Target> = wave.into_iter().filter(near).collect();
        (!wanted.is_empty()).then_some(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppin_abi::context::Context;
    use ppin_relocator::{Exit, SlotInit};

    fn target(off: i32) -> Target {
        Target {
            off: ImageOff(off),
            context: Context::CANONICAL,
        }
    }

    /// Code at `off` that leads to `exits`.
    fn code(off: i32, exits: &[i32]) -> Fragment {
        Fragment {
            head: ImageOff(off),
            exits: exits.iter().map(|off| exit(*off)).collect(),
            ..Fragment::default()
        }
    }

    fn exit(off: i32) -> Exit {
        Exit {
            target: ImageOff(off),
            context: Context::CANONICAL,
            branch: 0,
        }
    }

    /// The waves of a program in which each place leads 10 bytes farther.
    fn waves(mut search: Search) -> Vec<Vec<i32>> {
        let mut all = Vec::new();
        while let Some(wave) = search.wave() {
            let codes: Vec<_> = wave
                .iter()
                .map(|t| code(t.off.0, &[t.off.0 + 10]))
                .collect();
            search.reached(codes.iter());
            all.push(wave.iter().map(|t| t.off.0).collect());
        }
        all
    }

    #[test]
    fn new_traces_are_followed_to_the_depth() {
        let fresh = [code(0, &[100, 200])];
        let waves = waves(Search::beside(fresh.iter(), Vec::new()));
        assert_eq!(waves.len(), DEPTH as usize);
        assert_eq!(waves[0], [100, 200]);
        assert_eq!(waves[5], [150, 250]);
    }

    #[test]
    fn siblings_far_away_are_followed_for_themselves_and_nearby() {
        let step = NEAR as i32;
        let siblings: Vec<Target> = (0..=NEAREST as i32).map(|n| target(n * step)).collect();
        let far = NEAREST as i32 * step;
        let waves = waves(Search::beside([].iter(), siblings));
        assert_eq!(waves[0].len(), NEAREST);
        assert_eq!(waves.len() as u32, DEPTH + SHORT);
        assert_eq!(waves[DEPTH as usize], [far]);
        let mut search = Search::beside([].iter(), (0..101).map(|n| target(n * step)).collect());
        let mut last = Vec::new();
        while let Some(wave) = search.wave() {
            let codes: Vec<_> = wave.iter().map(|t| code(0, &[t.off.0 + step])).collect();
            search.reached(codes.iter());
            last = wave;
        }
        assert_eq!(last, [target(far)], "what is not near is left out");
    }

    #[test]
    fn what_is_known_is_passed_by_a_search_that_goes_on() {
        let mut search = Search::again_behind_string_code([target(5)].into_iter());
        assert_eq!(search.wave(), Some([target(5)].into()));
        assert!(search.passes_known());
        search.passed([target(6)].into_iter());
        assert_eq!(search.wave(), Some([target(6)].into()));
        assert_eq!(search.wave(), None);
    }

    #[test]
    fn a_search_everywhere_ends_where_it_has_been() {
        let mut search = Search::everywhere([target(5), target(90)].into_iter());
        let mut found = Vec::new();
        while let Some(wave) = search.wave() {
            // (In a circle of twenty places, some of which are known.)
            let next = wave.iter().map(|t| (t.off.0 + 5) % 100);
            let codes: Vec<_> = next
                .clone()
                .filter(|n| n % 2 == 0)
                .map(|n| code(0, &[n]))
                .collect();
            search.reached(codes.iter());
            search.passed(next.filter(|n| n % 2 != 0).map(target));
            found.extend(wave.iter().map(|t| t.off.0));
        }
        found.sort_unstable();
        assert_eq!(found, (0..20).map(|n| n * 5).collect::<Vec<_>>());
    }

    #[test]
    fn return_points_are_followed() {
        let mut call = code(0, &[]);
        call.slots.push(SlotInit::App(ImageOff(77)));
        let mut search = Search::beside([&call].into_iter(), Vec::new());
        assert_eq!(search.wave(), Some([target(77)].into()));
        assert_eq!(search.wave(), None);

        let mut search = Search::behind_string_code([code(0, &[6])].iter());
        assert_eq!(search.wave(), Some([target(6)].into()));
        assert!(!search.passes_known());
    }
}
