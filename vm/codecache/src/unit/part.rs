//! What the next start plan says of a unit.

use super::bound::Bound;
use super::follow::reader;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_images::Home;
use ppin_persist::CodeGroup;
use ppin_persist::start::{self, Compared, Groups, History, Link, Prediction, Target, UnitPlan};

/// Groups of a unit that a plan names.
struct Named {
    sound: Groups,
    stubs: bool,
    seen: Vec<u64>,
    eager: Groups,
    histories: Vec<History>,
}

/// What a run knows of where code of a unit goes on.
pub(super) struct Learnt {
    pub targets: Vec<Target>,
    pub links: Vec<Link>,
    pub predictions: Vec<Prediction>,
}

impl Learnt {
    fn len(&self) -> usize {
        self.targets.len() + self.links.len() + self.predictions.len()
    }

    /// Adds what the `last` plan knows: a run that was watched has come to less.
    fn add(&mut self, last: Option<&UnitPlan>) {
        if let Some(last) = last {
            self.targets.extend(&last.targets);
            self.links.extend(&last.links);
        }
    }
}

impl Bound {
    /// Whether `part` stands for the unit, its file being in the state that the plan knows.
    pub(super) fn is_of(&self, part: &UnitPlan) -> bool {
        part.unit == self.checksum() && part.file == self.file
    }

    /// What the next plan says of the unit; `old` is what the last one does, and `histories` says of its groups
    /// which runs have asked for them. `None` if the app's bytes are not what the code was made from.
    pub(super) fn plan(
        &self,
        old: Option<&UnitPlan>,
        image: Home<'_>,
        mut learnt: Learnt,
        histories: Vec<History>,
    ) -> Option<UnitPlan> {
        let mut part = self.part(self.named(old, histories), image, old)?;
        if self.planned.watched {
            learnt.add(old);
        }
        let found = learnt.len();
        let kept = self.keep_targets(&mut part, learnt.targets)
            + self.keep_links(&mut part, learnt.links)
            + self.keep_predictions(&mut part, learnt.predictions, old);
        let unlearnt = (found - kept) as u32;
        let known = old.map_or((0, 0), |old| (old.beyond, old.unlearnt));
        if knows_enough(&part.histories) {
            part.beyond = self.used_beyond(&part.eager).max(known.0);
        }
        part.unlearnt = unlearnt.max(known.1);
        (!part.sound.is_empty()).then_some(part)
    }

    /// Keeps those of `targets` that run at the start, besides those that `part` has; their number.
    fn keep_targets(&self, part: &mut UnitPlan, targets: Vec<Target>) -> usize {
        let before = part.targets.len();
        let is_eager = |hot: u32| {
            let group = self.unit.hot_group_at(hot);
            group.is_some_and(|group| start::has(&part.eager, group.number))
        };
        part.targets
            .extend(targets.into_iter().filter(|to| is_eager(to.hot)));
        let kept = part.targets.len() - before;
        part.targets
            .sort_unstable_by_key(|to| (to.hot, to.head, !to.near));
        part.targets.dedup_by_key(|to| (to.hot, to.head));
        kept
    }

    /// Keeps those of `links` that lead from code that runs at the start; their number.
    fn keep_links(&self, part: &mut UnitPlan, links: Vec<Link>) -> usize {
        let links = links.into_iter().filter(|link| {
            let group = self.group_of_exit_slot(link.slot);
            group.is_some_and(|number| start::has(&part.eager, number))
        });
        part.links = links.collect();
        part.links.sort_unstable();
        part.links.dedup_by_key(|link| link.slot);
        part.links.len()
    }

    /// The same of `predictions`. Those of the last plan that this run has not come to may be right all the same.
    fn keep_predictions(
        &self,
        part: &mut UnitPlan,
        predictions: Vec<Prediction>,
        old: Option<&UnitPlan>,
    ) -> usize {
        let predictions = predictions.into_iter().filter(|prediction| {
            let group = self.group_of_slot(prediction.slot);
            group.is_some_and(|number| start::has(&part.eager, number))
        });
        part.predictions = predictions.collect();
        let kept = part.predictions.len();
        let known = old.iter().flat_map(|old| &old.predictions);
        part.predictions.extend(known);
        part.predictions.sort_by_key(|prediction| prediction.slot);
        part.predictions.dedup_by_key(|prediction| prediction.slot);
        kept
    }

    /// The groups that run, those that `old` names, and those that are let run at once. What this process has
    /// written is sound.
    fn named(&self, old: Option<&UnitPlan>, histories: Vec<History>) -> Named {
        let own = self.planned.own;
        let known = |number: u32| own || old.is_some_and(|old| start::has(&old.sound, number));
        let all = 0..self.unit.hot_groups();
        let sound = start::runs(all.filter(|n| self.is_open(*n) || known(*n)));
        let eager = usual(&histories).into_iter().flatten();
        let eager = eager.filter(|n| start::has(&sound, *n) && !self.has_killed(*n));
        let mut seen = self.unit.seen();
        for (mine, theirs) in seen.iter_mut().zip(old.iter().flat_map(|old| &old.seen)) {
            *mine |= theirs;
        }
        if own {
            seen.fill(u64::MAX);
        }
        Named {
            eager: start::runs(eager),
            sound,
            stubs: own || self.planned.stubs || old.is_some_and(|old| old.stubs),
            seen,
            histories,
        }
    }

    fn part(&self, named: Named, image: Home<'_>, old: Option<&UnitPlan>) -> Option<UnitPlan> {
        let (compared, targets) = self.tables_of(&named.eager, image, old)?;
        Some(UnitPlan {
            image: self.geometry.key.image,
            name: (self.name().seq, self.name().tag),
            unit: self.checksum(),
            file: self.file,
            sound: named.sound,
            stubs: named.stubs,
            seen: named.seen,
            eager: named.eager,
            histories: named.histories,
            settled: 0,
            watches: 0,
            compared,
            targets,
            links: Vec::new(),
            predictions: Vec::new(),
            beyond: 0,
            unlearnt: 0,
            idle: 0,
        })
    }

    /// What the groups were made from, and those of their entries that indirect branches reach; as `old` has it
    /// if they are the same.
    fn tables_of(
        &self,
        groups: &Groups,
        image: Home<'_>,
        old: Option<&UnitPlan>,
    ) -> Option<(Compared, Vec<Target>)> {
        if let Some(old) = old.filter(|old| old.eager == *groups) {
            return Some((old.compared.clone(), old.targets.clone()));
        }
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        for group in self.groups(groups) {
            sources.extend(self.unit.sources(&group).ok()?);
            let reached = self.unit.indirect_targets(&group).ok()?;
            targets.extend(reached.map(|to| Target {
                head: to.head.0,
                hot: to.hot,
                near: to.before > 0,
                before: to.before,
            }));
        }
        Some((Compared::of(sources, reader(image))?, targets))
    }

    fn groups<'a>(&'a self, numbers: &'a [Range<u32>]) -> impl Iterator<Item = CodeGroup> + 'a {
        let numbers = numbers.iter().flat_map(Range::clone);
        numbers.map_while(|number| self.unit.hot_group(number))
    }

    /// Whether a fragment of the group was taken out of use.
    fn has_killed(&self, number: u32) -> bool {
        let group = self.unit.hot_group(number);
        let range = group.map(|group| group.offset..group.offset + group.len);
        range.is_some_and(|range| self.killed.iter().any(|hot| range.contains(hot)))
    }
}

/// Whether what a run asks for may be nothing new, though it is not let run at once.
fn knows_enough(histories: &[History]) -> bool {
    const RUNS: u32 = 4;
    histories.iter().any(|history| history.runs() >= RUNS)
}

/// Numbers of the groups that are let run at once.
fn usual(histories: &[History]) -> Groups {
    let numbers = (0..).zip(histories);
    start::runs(numbers.filter_map(|(n, history)| history.is_usual().then_some(n)))
}
