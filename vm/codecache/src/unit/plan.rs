//! The start plan of the program: read when the first image is asked for, written when a run has
//! used more than it says ([`ppin_persist::start`]).

use super::Bound;
use super::library::Library;
use super::next::Left;
use super::planned::Planned;
use super::written::Written;
use crate::cache::CodeCache;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ppin_abi::boot::flag;
use ppin_images::ImageId;
use ppin_persist::paths::{START, UnitName};
use ppin_persist::start::{self, UnitPlan};
use ppin_store::{Fault, Folder};

impl CodeCache {
    /// Maps the image's units that the program's start plan names, and does what it says of them.
    /// Whether it has named some.
    pub(super) fn follow_plan(&mut self, library: &mut Library, id: ImageId) -> bool {
        let Some(key) = self.key_of(library, id) else {
            return false;
        };
        self.read_plan(library);
        let parts = library.take_parts(&key.image);
        let relative = library.unit_dir(&key);
        let dir = (!parts.is_empty()).then(|| library.folder(0, &relative));
        let Some(dir) = dir.flatten() else {
            return false;
        };
        for part in &parts {
            let (seq, tag) = part.name;
            self.map_unit(library, id, &key, &dir, &UnitName { seq, tag }, Some(part));
            self.follow(id, part);
        }
        self.restore_links(id, &parts);
        self.restore_predictions(&parts);
        true
    }

    /// Does what the program's start plan says of the unit that was mapped last.
    pub(super) fn follow_rest(&mut self, library: &mut Library, id: ImageId) {
        let last = self.units.of(id).last().map(Bound::checksum);
        if let Some(part) = last.and_then(|unit| library.take_part(unit)) {
            self.follow(id, &part);
        }
    }

    /// Does what `part` says, if the unit that was mapped last is meant.
    fn follow(&mut self, id: ImageId, part: &UnitPlan) {
        let image = self.images.home(id);
        let Some(unit) = self.units.of_mut(id).last_mut() else {
            return;
        };
        if unit.checksum() == part.unit {
            unit.follow(part, image, &mut self.figures, &mut self.ibl);
        }
        unit.close_rest();
    }

    fn read_plan(&mut self, library: &mut Library) {
        if library.has_read_plan() {
            return;
        }
        let mut parts = Vec::new();
        if may_follow(library)
            && let Some(relative) = self.home_of_plan(library)
            && let Some(dir) = library.folder(0, &relative)
        {
            match read(&dir) {
                Ok(read) => parts = read,
                Err(reason) => self.figures.note(alloc::format!("{START}: {reason}")),
            }
        }
        if !library.may_watch() {
            parts.iter_mut().for_each(|part| part.watches = 0);
        }
        let targets: usize = parts.iter().map(|part| part.targets.len()).sum();
        self.ibl.make_room(targets as u64);
        library.set_plan(parts);
    }

    /// The folder of the units of the program's own image.
    fn home_of_plan(&mut self, library: &Library) -> Option<String> {
        let program = self.images.program()?;
        Some(library.unit_dir(&self.key_of(library, program)?))
    }

    /// Writes the next plan if this run has used or `written` much that the last one does not name.
    pub fn save_plan(&mut self, library: &mut Library, written: &[Written]) {
        if !is_enough(library) {
            return;
        }
        // (Most runs have written little, and need not look at it again.)
        let most = written.iter().map(Written::most_groups).sum();
        if !self.has_outgrown_plan_by(most) {
            return;
        }
        let Some(relative) = self.home_of_plan(library) else {
            return;
        };
        let left = self.left(written);
        if self.has_outgrown_plan_by(left.used()) {
            self.write_plan(library, &relative, &left);
        }
        left.close();
    }

    fn write_plan(&mut self, library: &mut Library, relative: &str, left: &Left<'_>) {
        // (Runs that explore follow on each other: they count as one.)
        self.figures.counted |= library.databases().flags & flag::EXPLORE != 0;
        let done = library.make_own_folder(relative).and_then(|dir| {
            // Another process may have written since.
            let old = read(&dir).unwrap_or_default();
            let mut next = self.next_plan(&old, left);
            if next == old && !self.count_unlearnt(&mut next) {
                return Ok(());
            }
            let bytes = start::encode(&next);
            dir.publish(START, &bytes).map_err(|e| e.to_string())?;
            library.wrote(bytes.len());
            Ok(())
        });
        if let Err(reason) = done {
            self.figures.note(alloc::format!("{START}: {reason}"));
        }
        self.figures.counted = true;
        self.settle_plan();
    }

    /// What has been used and learnt up to now is nothing new: it is in the plan, or another
    /// process will say it.
    pub(crate) fn settle_plan(&mut self) {
        self.figures.learnt = 0;
        self.figures.watched = false;
        // (Not in each unit: a forked child gets a copy of each page that it writes to.)
        self.figures.settled = self.used_and_planned().0;
    }

    /// Number of groups that run and that no plan has named or counted, and of those that were planned.
    fn used_and_planned(&self) -> (u32, u32) {
        let all = self.units.all().map(Bound::beyond_plan);
        all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Whether there is much that the last plan does not name.
    #[must_use]
    pub fn wants_plan(&self) -> bool {
        self.has_outgrown_plan_by(0)
    }

    /// The same, if `new` groups are used besides those of the units that are mapped.
    fn has_outgrown_plan_by(&self, new: u32) -> bool {
        let (used, planned) = self.used_and_planned();
        let used = new + used.saturating_sub(self.figures.settled);
        let learnt = self.in_plan(|planned| planned.learnt);
        self.figures.watched
            || is_outgrown(used, planned)
            || has_learnt_much(self.newly_learnt(), learnt)
    }

    /// What was learnt beyond what is nothing new.
    fn newly_learnt(&self) -> u64 {
        let unlearnt = self.in_plan(|planned| planned.unlearnt);
        self.figures.learnt.saturating_sub(unlearnt as u64)
    }

    fn in_plan(&self, of: fn(&Planned) -> usize) -> usize {
        self.units.all().map(|unit| of(&unit.planned)).sum()
    }

    /// A plan that is as the last one does not spare what was learnt all the same: the next run will
    /// learn it, too, and shall not look for a better plan. Whether there is any.
    fn count_unlearnt(&self, plan: &mut [UnitPlan]) -> bool {
        let new = u32::try_from(self.newly_learnt()).unwrap_or_default();
        match plan.first_mut() {
            Some(first) if new > 0 => {
                first.unlearnt = first.unlearnt.saturating_add(new);
                true
            }
            _ => false,
        }
    }
}

/// Whether a plan can say enough: it names no units of further databases.
fn is_enough(library: &Library) -> bool {
    library.databases().paths.len() == 1
}

/// Whether the run may go by a plan. One that explores must know all units, and one that is
/// compared step by step has no links.
fn may_follow(library: &Library) -> bool {
    is_enough(library) && library.databases().flags & (flag::EXPLORE | flag::LOCKSTEP) == 0
}

/// Whether groups that are used beyond the `planned` ones are worth a new plan.
const fn is_outgrown(used: u32, planned: u32) -> bool {
    used > planned / 16
}

/// Whether what was learnt beyond the `known` is worth a new plan, which costs as much as to learn
/// some twenty things.
const fn has_learnt_much(learnt: u64, known: usize) -> bool {
    learnt > 20 + known as u64 / 16
}

/// The plan in a folder.
fn read(dir: &Folder) -> Result<Vec<UnitPlan>, String> {
    let (file, stat) = match dir.open_file(START) {
        Err(Fault::Missing) => return Ok(Vec::new()),
        other => other.map_err(|fault| fault.to_string())?,
    };
    let bytes = file.read_all(start::MAX_PLAN.min(stat.size as usize));
    let bytes = bytes.map_err(|e| e.to_string())?;
    start::decode(&bytes).ok_or_else(|| String::from("damaged, or of another version"))
}
