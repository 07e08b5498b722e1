//! The table of a thread.

use ppin_sdk::prelude::*;

const ROWS: usize = 1 << 13;
/// Rows in which a branch may stand.
const NEAR: usize = 8;

/// How often a branch was executed, and taken.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Row {
    /// Its address; 0: none.
    pub pc: u64,
    pub executed: u64,
    pub taken: u64,
}

/// The branches of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branches {
    rows: [Row; ROWS],
    /// Those that had to make room.
    others: Row,
}

impl Default for Branches {
    fn default() -> Self {
        Self {
            rows: [Row::default(); ROWS],
            others: Row::default(),
        }
    }
}

impl Merge for Branches {
    fn merge(&mut self, other: &Self) {
        for row in other.rows() {
            self.add(row);
        }
        self.others.executed += other.others.executed;
        self.others.taken += other.others.taken;
    }
}

impl Branches {
    /// The branch at `pc` is executed, and taken if `taken` is 1.
    #[inline(always)]
    pub(crate) fn pass(&mut self, pc: u64, taken: u64) {
        let row = &mut self.rows[first(pc)];
        if row.pc == pc {
            row.executed += 1;
            row.taken += taken;
        } else {
            self.pass_further(pc, taken);
        }
    }

    #[cold]
    #[inline(never)]
    fn pass_further(&mut self, pc: u64, taken: u64) {
        self.add(Row {
            pc,
            executed: 1,
            taken,
        });
    }

    /// The branches that have a row.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row> {
        self.rows.iter().copied().filter(|row| row.pc != 0)
    }

    /// Those that have none any more, as one.
    pub(crate) const fn others(&self) -> Row {
        self.others
    }

    fn add(&mut self, new: Row) {
        let here = |nth: usize| (first(new.pc) + nth) % ROWS;
        let known = (0..NEAR).find(|nth| self.rows[here(*nth)].pc == new.pc);
        let least = || (0..NEAR).min_by_key(|nth| self.rows[here(*nth)].executed);
        let at = here(known.or_else(least).unwrap_or_default());
        let row = &mut self.rows[at];
        if row.pc != new.pc {
            self.others.executed += row.executed;
            self.others.taken += row.taken;
            *row = Row {
                pc: new.pc,
                ..Row::default()
            };
        }
        row.executed += new.executed;
        row.taken += new.taken;
    }
}

/// The row for the branch at `pc`, if nobody is there.
#[inline(always)]
const fn first(pc: u64) -> usize {
    (pc ^ pc >> 13) as usize % ROWS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed() -> Box<Branches> {
        Box::default()
    }

    #[test]
    fn branches_that_meet_stand_beside_each_other() {
        let mut branches = boxed();
        for (pc, taken) in [(5, 1), (5, 0), (5 ^ 1 << 13 ^ 1, 1), (5, 1)] {
            branches.pass(pc, taken);
        }
        let mut rows: Vec<_> = branches
            .rows()
            .map(|r| (r.pc, r.executed, r.taken))
            .collect();
        rows.sort_unstable();
        assert_eq!(rows, [(5, 3, 2), (5 ^ 1 << 13 ^ 1, 1, 1)]);
        assert_eq!(branches.others(), Row::default());
    }

    #[test]
    fn the_one_that_was_executed_least_makes_room() {
        let mut branches = boxed();
        // All of them have the same first row.
        let pc = |nth: u64| 7 ^ nth << 13 ^ nth;
        for nth in 0..=NEAR as u64 {
            for _ in 0..=nth {
                branches.pass(pc(nth), 0);
            }
        }
        assert_eq!(branches.rows().count(), NEAR);
        assert!(branches.rows().all(|row| row.pc != pc(0)));
        assert_eq!(branches.others().executed, 1);
    }

    #[test]
    fn tables_of_threads_are_added_up() {
        let (mut one, mut other) = (boxed(), boxed());
        one.pass(5, 1);
        other.pass(5, 0);
        other.pass(6, 1);
        one.merge(&other);
        let all: u64 = one.rows().map(|row| row.executed).sum();
        let taken: u64 = one.rows().map(|row| row.taken).sum();
        assert_eq!((all, taken), (3, 2));
    }
}
