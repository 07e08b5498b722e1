//! What start plans say of which runs have asked for which code: compaction puts first what more of them have,
//! and the plans keep it.

use crate::error::{Context, Error};
use crate::files::{Files, publish};
use crate::plans::contents;
use ppin_persist::paths::UnitName;
use ppin_persist::start::{self, Compared, FileState, History, UnitPlan};
use ppin_persist::{Merged, UnitFile, VerifiedUnit};
use std::path::PathBuf;

/// The plans of a database.
pub(crate) struct Profile(Vec<Plan>);

struct Plan {
    path: PathBuf,
    parts: Vec<UnitPlan>,
    changed: bool,
}

impl Profile {
    /// Those at these paths that can be read.
    pub(crate) fn read(paths: &[PathBuf]) -> Self {
        let plan = |path: &PathBuf| {
            Some(Plan {
                path: path.clone(),
                parts: start::decode(&contents(path).ok()?)?,
                changed: false,
            })
        };
        Self(paths.iter().filter_map(plan).collect())
    }

    /// For each fragment of each of `units`: how many runs ask for it, of all programs.
    pub(crate) fn weights(&self, units: &[UnitFile<'_>]) -> Vec<Vec<u32>> {
        let of = |file: &UnitFile<'_>| {
            let unit = file.unit();
            let mut weights = vec![0; unit.fragments() as usize];
            for part in self.0.iter().filter_map(|plan| plan.part_of(unit)) {
                let histories = of_fragments(unit, part);
                for (weight, history) in weights.iter_mut().zip(histories) {
                    *weight += history.share();
                }
            }
            weights
        };
        units.iter().map(of).collect()
    }

    /// Notes that `units` have been `merged` into one of this name.
    pub(crate) fn note(&mut self, units: &[UnitFile<'_>], merged: &Merged, name: &UnitName) {
        let Ok(new) = UnitFile::open(&merged.bytes, None) else {
            return;
        };
        for plan in &mut self.0 {
            plan.note(units, merged, (new.unit(), name));
        }
    }

    /// Writes the plans that have changed.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn write(self, files: &dyn Files) -> Result<(), Error> {
        for plan in self.0.iter().filter(|plan| plan.changed) {
            let bytes = start::encode(&plan.parts);
            publish(files, &plan.path, &bytes).context("write", &plan.path)?;
        }
        Ok(())
    }
}

impl Plan {
    fn part_of(&self, unit: &VerifiedUnit<'_>) -> Option<&UnitPlan> {
        let mut parts = self.parts.iter();
        parts.find(|part| part.unit == unit.checksum())
    }

    fn note(
        &mut self,
        units: &[UnitFile<'_>],
        merged: &Merged,
        (new, name): (&VerifiedUnit<'_>, &UnitName),
    ) {
        let old: Vec<Option<&UnitPlan>> =
            units.iter().map(|one| self.part_of(one.unit())).collect();
        let known = old.iter().flatten().flat_map(|part| &part.histories);
        // Nothing was asked for of what a plan does not name.
        let runs = known
            .map(|history| history.runs())
            .max()
            .unwrap_or_default();
        let Some(first) = old.iter().flatten().next() else {
            return;
        };
        let of = |(file, part): (&UnitFile<'_>, &Option<&UnitPlan>)| match part {
            Some(part) => of_fragments(file.unit(), part),
            None => vec![History::unasked(runs); file.unit().fragments() as usize],
        };
        let all: Vec<Vec<History>> = units.iter().zip(&old).map(of).collect();
        let histories = merged.histories(|nth, number| all[nth][number as usize]);
        // (What is new was not asked for.)
        let history = |number: u32| histories.get(number as usize).copied();
        let groups = History::of_groups(new, |number| {
            history(number).unwrap_or(History::unasked(runs))
        });
        let part = heard(first, (new, name), groups);
        let is_gone = |part: &UnitPlan| units.iter().any(|one| one.unit().checksum() == part.unit);
        self.parts.retain(|part| !is_gone(part));
        self.parts.push(part);
        self.changed = true;
    }
}

/// The part for a unit of which nothing but that is known: the next run will verify it, and find out how it goes on.
fn heard(
    like: &UnitPlan,
    (unit, name): (&VerifiedUnit<'_>, &UnitName),
    histories: Vec<History>,
) -> UnitPlan {
    UnitPlan {
        image: like.image,
        name: (name.seq, name.tag),
        unit: unit.checksum(),
        file: FileState::default(),
        sound: Vec::new(),
        stubs: false,
        seen: Vec::new(),
        eager: Vec::new(),
        histories,
        settled: like.settled,
        watches: like.watches,
        compared: Compared::default(),
        targets: Vec::new(),
        links: Vec::new(),
        predictions: Vec::new(),
        beyond: 0,
        unlearnt: 0,
        idle: 0,
    }
}

/// What `part` says of the fragments of `unit`.
fn of_fragments(unit: &VerifiedUnit<'_>, part: &UnitPlan) -> Vec<History> {
    let mut histories = vec![History::UNKNOWN; unit.fragments() as usize];
    for (number, history) in (0..).zip(&part.histories) {
        let fragments = unit.hot_group(number).map(|group| group.fragments);
        for fragment in fragments.into_iter().flatten() {
            histories[fragment as usize] = *history;
        }
    }
    histories
}
