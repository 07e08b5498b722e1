//! Start plans: what runs of a program have used of its images' units, so that the next run lets
//! that run at once, without verifying it again.
//!
//! A plan names units by their checksum. It saves work, and is never needed: where anything does
//! not fit, code is admitted group by group as if there were no plan. `FORMAT.md` describes the
//! file.

mod history;
mod stretches;

pub use history::History;
pub use stretches::Compared;

use crate::checksum;
use crate::record::Record;
use alloc::vec::Vec;
use core::ops::Range;
use rkyv::api::{deserialize_using, low::access};
use rkyv::rancor::Failure;
use rkyv::{Archive, Archived, Deserialize, Serialize};

/// First bytes of a plan's file.
const MAGIC: [u8; 8] = *b"ppinplan";
/// Counts incompatible changes of the format.
pub const PLAN_VERSION: u32 = 6;
/// Longest file that is read.
pub const MAX_PLAN: usize = 4 << 20;
/// Rewrites of a plan that the part of a unit outlives although no run has the unit.
const MOST_IDLE: u8 = 8;

/// A file's state: as long as it is the same, so are its contents.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileState {
    /// Length in bytes.
    pub len: u64,
    /// Inode number.
    pub ino: u64,
    /// Modification time: seconds, nanoseconds.
    pub mtime: (i64, u32),
    /// Change time: seconds, nanoseconds. No call sets it.
    pub ctime: (i64, u32),
}

/// Numbers of hot groups: ranges, ascending.
pub type Groups = Vec<Range<u32>>;

/// An entry that indirect branches reach.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Target {
    /// Offset of the app address in the image.
    pub head: i32,
    /// Offset of the entry in the hot section.
    pub hot: u32,
    /// Threads find it by themselves ([`ppin_abi::area::Area::near`]).
    pub near: bool,
    /// So many bytes before the entry such branches arrive; 0: at a landing elsewhere.
    pub before: u8,
}

/// An exit that leads to another unit.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Link {
    /// Number of its slot among those of exits.
    pub slot: u32,
    /// Checksum of the other unit's head.
    pub unit: u64,
    /// Offset of the entry in the other unit's hot section.
    pub hot: u32,
}

/// A jump through a cell, and where it is predicted to go.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prediction {
    /// Number of the first of its two slots, among those that are no exit's.
    pub slot: u32,
    /// Offset of its fragment's app address in the image; of a cell that does not change, its own.
    pub head: i32,
    /// Offset in the hot section where its fragment is entered.
    pub own: u32,
    /// Checksum of the head of the unit where it goes on.
    pub unit: u64,
    /// Offset of the app address to which it goes in that unit's image.
    pub target: i32,
    /// Offset of that one's entry in that unit's hot section.
    pub hot: u32,
}

/// What is known of one unit.
#[derive(Archive, Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct UnitPlan {
    /// Identity of its image.
    pub image: [u8; 32],
    /// Name of its file: place in the order, and tag ([`crate::paths::UnitName`]).
    pub name: (u32, u64),
    /// Checksum of the unit's head, and so of its contents.
    pub unit: u64,
    /// State of its file when `sound` and `seen` were true of it.
    pub file: FileState,
    /// Groups that were verified, with their slots and stubs.
    pub sound: Groups,
    /// Whether all stubs were verified.
    pub stubs: bool,
    /// Tables that were verified: see [`crate::VerifiedUnit::seen`].
    pub seen: Vec<u64>,
    /// Groups that are let run at the start; all are `sound`.
    pub eager: Groups,
    /// Of each group, which of the last runs have asked for it.
    pub histories: Vec<History>,
    /// Of the whole image: number of groups that were let run at the start when it was last known which
    /// of them runs need.
    pub settled: u32,
    /// Of the whole image: so many runs shall let nothing run at the start, to see what they ask for.
    pub watches: u8,
    /// The app's bytes that the eager groups were made from.
    pub compared: Compared,
    /// Entries of eager groups that indirect branches reach.
    pub targets: Vec<Target>,
    /// Exits of eager groups that lead to other units of the image.
    pub links: Vec<Link>,
    /// Jumps through cells, in eager groups, and where they are predicted to go: to units of any image.
    pub predictions: Vec<Prediction>,
    /// Number of groups that runs have used and that are not eager: so many are nothing new.
    pub beyond: u32,
    /// Number of entries and exits of those, which runs have to ask for: so many are nothing new.
    pub unlearnt: u32,
    /// How often the plan was rewritten since a run had the unit.
    pub idle: u8,
}

impl UnitPlan {
    /// Whether all code of the unit, whose file is in state `file`, is let run at the start.
    #[must_use]
    pub fn lets_all_run(&self, file: &FileState) -> bool {
        let all = 0..self.histories.len() as u32;
        let planned = self.watches == 0 && self.stubs && self.file == *file;
        planned && self.eager.as_slice() == [all]
    }

    /// The part as the next plan keeps it when no process that wrote had the unit; `None` if that
    /// has been so for long.
    #[must_use]
    pub fn idle(mut self) -> Option<Self> {
        self.idle += 1;
        (self.idle < MOST_IDLE).then_some(self)
    }
}

/// Number of groups in all.
#[must_use]
pub fn count(groups: &[Range<u32>]) -> u32 {
    groups
        .iter()
        .map(|run| run.end.saturating_sub(run.start))
        .sum()
}

/// Whether group `number` is one of `groups`.
#[must_use]
pub fn has(groups: &[Range<u32>], number: u32) -> bool {
    groups.iter().any(|run| run.contains(&number))
}

/// The ranges of `numbers`, which ascend.
#[must_use]
pub fn runs(numbers: impl Iterator<Item = u32>) -> Groups {
    let mut runs: Groups = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => runs.push(number..number + 1),
        }
    }
    runs
}

/// The fixed part of the file.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
struct PlanHead {
    magic: [u8; 8],
    version: u32,
    /// Checksum of what follows.
    checksum: u64,
}

crate::record::records!(PlanHead);

/// The contents of a plan's file.
#[must_use]
pub fn encode(units: &Vec<UnitPlan>) -> Vec<u8> {
    let Ok(body) = rkyv::to_bytes::<Failure>(units) else {
        return Vec::new();
    };
    let head = PlanHead {
        magic: MAGIC,
        version: PLAN_VERSION,
        checksum: checksum::group(&body),
    };
    let mut bytes = Vec::with_capacity(PlanHead::LEN + body.len());
    head.put(&mut bytes);
    bytes.extend_from_slice(&body);
    bytes
}

/// What a plan's file says; `None` if it is damaged, or of another version.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<Vec<UnitPlan>> {
    let (head, body) = bytes.split_at_checked(PlanHead::LEN)?;
    let head = PlanHead::get(head)?;
    let intact = head.magic == MAGIC
        && head.version == PLAN_VERSION
        && head.checksum == checksum::group(body);
    if !intact {
        return None;
    }
    let archived = access::<Archived<Vec<UnitPlan>>, Failure>(body).ok()?;
    deserialize_using::<_, _, Failure>(archived, &mut ()).ok()
}

/// Whether it is the plan of another version of ppin, and not damaged.
#[must_use]
pub fn is_of_other_version(bytes: &[u8]) -> bool {
    let head = bytes.get(..PlanHead::LEN).and_then(PlanHead::get);
    head.is_some_and(|head| head.magic == MAGIC && head.version != PLAN_VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(unit: u64, idle: u8) -> UnitPlan {
        UnitPlan {
            image: [7; 32],
            name: (5, 6),
            unit,
            file: FileState {
                len: 1,
                ino: 2,
                mtime: (3, 4),
                ctime: (-5, 6),
            },
            sound: runs([1, 2, 3, 9].into_iter()),
            stubs: true,
            seen: alloc::vec![0x55, u64::MAX],
            eager: runs([2].into_iter()),
            histories: alloc::vec![History::UNKNOWN, History::unasked(2)],
            settled: 1,
            watches: 2,
            compared: Compared::default(),
            targets: alloc::vec![Target {
                head: -16,
                hot: 32,
                near: true,
                before: 5,
            }],
            links: alloc::vec![Link {
                slot: 3,
                unit: 77,
                hot: 48,
            }],
            predictions: alloc::vec![Prediction {
                slot: 2,
                head: -32,
                own: 16,
                unit: 78,
                target: 5,
                hot: 64,
            }],
            beyond: 8,
            unlearnt: 9,
            idle,
        }
    }

    #[test]
    fn numbers_make_runs() {
        let groups = runs([0, 1, 4, 6, 7, 8].into_iter());
        assert_eq!(groups, [0..2, 4..5, 6..9]);
        assert_eq!(count(&groups), 6);
        let found: Vec<u32> = (0..12).filter(|n| has(&groups, *n)).collect();
        assert_eq!(found, [0, 1, 4, 6, 7, 8]);
    }

    #[test]
    fn a_part_that_nobody_uses_is_dropped_in_the_end() {
        let mut kept = Some(plan(1, 0));
        let rewrites = core::iter::from_fn(|| {
            kept = kept.take().and_then(UnitPlan::idle);
            kept.as_ref().map(|part| part.idle)
        });
        assert_eq!(rewrites.last(), Some(MOST_IDLE - 1));
    }

    #[test]
    fn a_plan_of_another_version_is_none() {
        let mut bytes = encode(&alloc::vec![plan(1, 0)]);
        assert!(decode(&bytes).is_some());
        assert!(!is_of_other_version(&bytes));
        bytes[8] += 1;
        assert!(decode(&bytes).is_none() && is_of_other_version(&bytes));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(units in prop::collection::vec(any::<u64>(), 0..4)) {
            let plans: Vec<UnitPlan> = units.iter().map(|unit| plan(*unit, 3)).collect();
            prop_assert_eq!(decode(&encode(&plans)), Some(plans));
        }

        #[test]
        fn a_damaged_plan_is_none(at in any::<prop::sample::Index>(), bit in 0..8u8, cut in any::<bool>()) {
            let mut bytes = encode(&alloc::vec![plan(1, 0), plan(2, 1)]);
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] ^= 1 << bit;
            }
            prop_assert_eq!(decode(&bytes), None);
        }
    }
}
