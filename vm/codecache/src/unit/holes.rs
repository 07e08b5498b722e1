//! Holes in units: closed groups between groups that run. Each of them costs three mappings where one would
//! do, and a fork copies all mappings. So a process that forks often admits them, though nobody has asked.

use super::admit::Source;
use super::bound::{Bound, Gate};
use crate::cache::CodeCache;
use crate::figures::Figures;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_images::Home;
use ppin_indirect::IblTable;
use ppin_persist::start::{self, Groups};

/// Number of forks that pay as much for a hole as it costs to admit one group of it.
const FORKS: u64 = 12;

impl CodeCache {
    /// The process is about to fork. When the next fork would have cost as much for a hole as it costs to
    /// fill it, it is filled: so no process pays more than twice what was necessary. Looked at when the
    /// number of forks has doubled.
    pub fn before_fork(&mut self) {
        self.figures.forks += 1;
        let most = self.figures.forks / FORKS;
        if most > 0 && self.figures.forks.is_power_of_two() {
            self.fill_holes(most as usize);
        }
    }

    /// Fills holes of at most `most` groups.
    pub(super) fn fill_holes(&mut self, most: usize) {
        for id in self.images.present() {
            for unit in self.units.of_mut(id) {
                let image = self.images.home(id);
                unit.fill_holes(most, image, &mut self.figures, &mut self.ibl);
            }
        }
    }
}

impl Bound {
    fn fill_holes(
        &mut self,
        most: usize,
        image: Home<'_>,
        figures: &mut Figures,
        ibl: &mut IblTable,
    ) {
        for hole in holes(&self.hot_gates, most) {
            self.open_groups(hole.clone(), Source::Unknown, image, figures, ibl);
            self.filled.push(hole);
        }
    }

    /// Numbers of the groups that run because somebody has asked for them, or for one before them.
    pub(super) fn asked_for(&self) -> Groups {
        let is_filled = |number: u32| start::has(&self.filled, number);
        let all = 0..self.unit.hot_groups();
        start::runs(all.filter(|n| self.is_open(*n) && !is_filled(*n)))
    }
}

/// Closed groups, at most `most` of them in a row, between open ones.
fn holes(gates: &[Gate], most: usize) -> Vec<Range<u32>> {
    let mut holes = Vec::new();
    let mut open = None;
    for (number, gate) in gates.iter().enumerate() {
        if *gate != Gate::Open {
            continue;
        }
        let hole = open.map_or(number, |last| last + 1)..number;
        let is_closed = || gates[hole.clone()].iter().all(|gate| *gate == Gate::Closed);
        if !hole.is_empty() && hole.len() <= most && is_closed() {
            holes.push(hole.start as u32..hole.end as u32);
        }
        open = Some(number);
    }
    holes
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::unit::shelf::{Shelf, large};
    use ppin_persist::paths::START;

    #[test]
    fn holes_lie_between_open_groups() {
        let gates: Vec<Gate> = "..o.oo..o.x.oo...o.."
            .chars()
            .map(|gate| match gate {
                'o' => Gate::Open,
                'x' => Gate::Refused,
                _ => Gate::Closed,
            })
            .collect();
        assert_eq!(holes(&gates, 1), start::runs([3].into_iter()));
        assert_eq!(holes(&gates, 2), [3..4, 6..8]);
        assert_eq!(holes(&gates, 9), [3..4, 6..8, 14..17]);
        assert_eq!(holes(&gates[..3], 9), []);
        assert_eq!(holes(&[], 9), []);
    }

    /// Offset of group `n`.
    const fn at(n: u64) -> u64 {
        0x40 * n
    }

    #[test]
    fn who_forks_often_fills_holes_and_they_are_not_planned() {
        const HOLE: u64 = 4;
        let groups: Vec<_> = (0..HOLE + 2).map(|n| large(at(n), &[])).collect();
        let mut shelf = Shelf::holding(&groups);
        shelf.find(0).expect("kept");
        shelf.find(at(HOLE + 1)).expect("kept");
        let reused = |shelf: &Shelf| shelf.world.code.figures.traces_reused;
        for _ in 0..HOLE * FORKS {
            shelf.world.code.before_fork();
            assert_eq!(reused(&shelf), 2);
        }
        for _ in 0..HOLE * FORKS {
            shelf.world.code.before_fork();
        }
        assert_eq!(reused(&shelf), 2 + HOLE);
        shelf.save_plan();
        let plan = std::fs::read(shelf.path(START)).expect("there is a plan");
        let [part] = &start::decode(&plan).expect("it is sound")[..] else {
            panic!("one unit has one part");
        };
        let last = HOLE as u32 + 1;
        assert_eq!(part.eager, [0..1, last..last + 1]);
    }
}
