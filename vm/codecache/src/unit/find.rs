//! Finding an image's units, and fragments in them.

use super::bound::Bound;
use super::library::Library;
use super::map::{self, How};
use crate::cache::CodeCache;
use alloc::vec::Vec;
use core::cmp::Reverse;
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::context::Context;
use ppin_images::{Asked, ImageId, Naming, identity, naming};
use ppin_os::{report, time};
use ppin_persist::paths::UnitName;
use ppin_persist::start::UnitPlan;
use ppin_persist::{Key, VerifiedUnit};
use ppin_store::Folder;

impl CodeCache {
    /// The persisted translation of `pc`, ready to run. `aside`: it may lie in the middle of a trace.
    pub fn find_persisted(
        &mut self,
        library: &mut Library,
        pc: AppPc,
        context: Context,
        aside: bool,
    ) -> Option<CachePc> {
        if !context.is_ordinary() {
            return None;
        }
        let id = self.images.region(pc)?.image;
        self.ask(library, id);
        let aside = aside && context == Context::CANONICAL;
        let mut found = self.search(id, pc, context, aside);
        if found.is_none() && self.ask_for_all(library, id) {
            found = self.search(id, pc, context, aside);
        }
        self.figures.traces_looked_up += u64::from(found.is_some());
        found
    }

    fn search(&mut self, id: ImageId, pc: AppPc, context: Context, aside: bool) -> Option<CachePc> {
        let image = self.images.home(id);
        let off = pc.offset_from(image.base)?;
        let (units, figures, ibl) = (self.units.of_mut(id), &mut self.figures, &mut self.ibl);
        let head = |unit: &VerifiedUnit<'_>| Ok(unit.lookup(off, context)?.map(|entry| entry.hot));
        let mut all = units.iter_mut();
        let found = all.find_map(|u| u.enter(head, image, figures, ibl));
        if found.is_some() || !aside {
            return found;
        }
        let middle = |unit: &VerifiedUnit<'_>| unit.side_entrance(off);
        let mut all = units.iter_mut();
        all.find_map(|u| u.enter(middle, image, figures, ibl))
    }

    /// Admits the group that holds cache address `addr`; `false` if it must not be run.
    pub fn admit(&mut self, addr: u64) -> bool {
        let Some((id, _)) = self.units.at(addr) else {
            return false;
        };
        let image = self.images.home(id);
        let unit = self.units.of_mut(id).iter_mut().find(|u| u.contains(addr));
        unit.is_some_and(|unit| {
            let admitted = unit.admit_at(addr, image, &mut self.figures, &mut self.ibl);
            if !admitted && unit.is_stub(addr) {
                // Nothing else can take the place of what running code needs.
                report::give_up(format_args!("stubs of {} cannot run", image.path()));
            }
            admitted
        })
    }

    /// Admits everything, and maps nothing more.
    pub fn admit_all(&mut self) {
        for id in self.images.present() {
            self.images.get_mut(id).asked = Asked::Closed;
            for unit in self.units.of_mut(id) {
                let image = self.images.home(id);
                unit.admit_all(image, &mut self.figures, &mut self.ibl);
            }
        }
    }

    /// The app may be about to use up all mappings: code takes up as few as possible from here
    /// on, and needs no more later.
    pub fn join_all(&mut self) {
        for id in self.images.present() {
            for unit in self.units.of_mut(id) {
                let image = self.images.home(id);
                unit.join(image, &mut self.figures, &mut self.ibl);
            }
        }
    }

    /// Maps the image's units, the first time one of its addresses is sought: those that the
    /// program's start plan names, or all.
    fn ask(&mut self, library: &mut Library, id: ImageId) {
        if self.images.get(id).asked != Asked::Nothing || !library.databases().reads {
            return;
        }
        let started = time::ticks();
        self.images.get_mut(id).asked = Asked::Planned;
        let planned = self.follow_plan(library, id);
        self.figures.spent.load += time::ticks().saturating_sub(started);
        if !planned {
            self.ask_for_all(library, id);
        }
    }

    /// Maps all of the image's units, unless that was done; whether something was done.
    fn ask_for_all(&mut self, library: &mut Library, id: ImageId) -> bool {
        if self.images.get(id).asked != Asked::Planned {
            return false;
        }
        let started = time::ticks();
        self.images.get_mut(id).asked = Asked::All;
        if let Some(key) = self.key_of(library, id) {
            for n in 0..library.databases().paths.len() {
                self.map_units(library, id, &key, n);
                self.note_refusals(library);
                if n == 0 {
                    let last = self.units.of(id).last();
                    let explored = last.is_none_or(Bound::is_explored);
                    self.images.get_mut(id).explored = explored;
                }
            }
        }
        self.figures.spent.load += time::ticks().saturating_sub(started);
        true
    }

    /// Other processes have written units of the images at `places` since they were asked for: maps these.
    pub fn look_again(&mut self, library: &mut Library, places: impl Iterator<Item = AppPc>) {
        let regions = places.filter_map(|pc| self.images.region(pc));
        let mut ids: Vec<ImageId> = regions.map(|region| region.image).collect();
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            let asked = self.images.get(id).asked;
            if asked == Asked::Planned {
                self.ask_for_all(library, id);
            } else if asked == Asked::All
                && self.units.of(id).len() < MOST
                && let Some(key) = self.key_of(library, id)
            {
                self.map_units(library, id, &key, 0);
            }
        }
    }

    /// Maps all units of the images of which some are mapped: later that might not be possible.
    pub fn map_all(&mut self, library: &mut Library) {
        for id in self.images.present() {
            self.ask_for_all(library, id);
        }
    }

    /// Names of the image's units that were found damaged, those that were mapped included.
    pub fn take_damaged(&mut self, id: ImageId) -> Vec<UnitName> {
        // (A page that is not written to stays shared with forked children.)
        let mut names = match self.images.get(id).damaged.is_empty() {
            true => Vec::new(),
            false => core::mem::take(&mut self.images.get_mut(id).damaged),
        };
        let damaged = self.units.of(id).iter().filter(|unit| unit.is_damaged());
        names.extend(damaged.map(Bound::name));
        names
    }

    /// Whether some unit was found damaged.
    #[must_use]
    pub fn has_damaged(&self) -> bool {
        let named = self
            .images
            .iter()
            .any(|(_, image)| !image.damaged.is_empty());
        named || self.units.all().any(Bound::is_damaged)
    }

    /// Says in the statistics and the journal what was refused.
    pub fn note_refusals(&mut self, library: &mut Library) {
        for reason in library.store_mut().refusals() {
            self.journal.note(format_args!("{reason}"));
            self.figures.note(reason);
        }
    }

    /// Key under which code of an image is saved; `None` if it cannot be named for other runs.
    pub fn key_to_save(&mut self, library: &Library, id: ImageId) -> Option<Key> {
        if !self.recall_path(id) {
            self.images.learn_paths();
        }
        naming::check(self.images.get_mut(id))
            .then(|| self.key_of(library, id))
            .flatten()
    }

    /// Takes the path of the image over from a unit of it, if the file there is the one that is mapped: the
    /// kernel's list of mappings takes a process some 300 us. Whether it is known now.
    fn recall_path(&self, id: ImageId) -> bool {
        let image = self.images.get(id);
        let mut units = self.units.of(id).iter();
        image.knows_path() || units.any(|unit| image.lies_at(unit.unit.image_path()))
    }

    /// Key of an image's units.
    pub fn key_of(&mut self, library: &Library, id: ImageId) -> Option<Key> {
        let image = self.images.get_mut(id);
        if image.gone || image.naming == Naming::Local {
            return None;
        }
        let identity = image.identity.or_else(|| identity::of_image(image))?;
        image.identity = Some(identity);
        Some(library.key(identity, image.base))
    }

    /// Maps what database number `n` has of the image.
    fn map_units(&mut self, library: &mut Library, id: ImageId, key: &Key, n: usize) {
        let relative = library.unit_dir(key);
        let Some(dir) = library.folder(n, &relative) else {
            return;
        };
        for name in worth_opening(&dir, dir.unit_names()) {
            if !self.units.of(id).iter().any(|unit| unit.name() == name) {
                self.map_unit(library, id, key, &dir, &name, None);
                self.follow_rest(library, id);
            }
        }
    }

    /// Maps one unit for image `id`, of which a start plan says `part`; what is wrong with it is noted.
    pub fn map_unit(
        &mut self,
        library: &Library,
        id: ImageId,
        key: &Key,
        dir: &Folder,
        name: &UnitName,
        part: Option<&UnitPlan>,
    ) {
        let file = name.file_name();
        let image = self.images.get(id);
        let flags = library.databases().flags;
        let how = How { flags, part };
        match map::open(dir, name, key, image, self.units.of(id), how) {
            Ok(unit) => {
                let moved = unit.as_ref().is_some_and(|unit| unit.is_moved(image.base));
                self.figures.units_mapped += u64::from(unit.is_some());
                self.figures.units_moved += u64::from(moved);
                unit.into_iter().for_each(|unit| self.units.add(id, unit));
                self.journal.note(format_args!("unit {file}"));
            }
            Err(map::Unfit { reason, damaged }) => {
                self.journal
                    .note(format_args!("unit {file} refused: {reason}"));
                self.figures.note(alloc::format!("{file}: {reason}"));
                if damaged {
                    self.images.get_mut(id).damaged.push(*name);
                }
            }
        }
    }

    /// Maps a unit only to look into its index.
    #[must_use]
    pub fn peek_unit(
        &self,
        dir: &Folder,
        name: &UnitName,
        key: &Key,
        id: ImageId,
    ) -> Option<Bound> {
        let (flags, part) = (0, None);
        let how = How { flags, part };
        map::open(dir, name, key, self.images.get(id), self.units.of(id), how)
            .ok()
            .flatten()
    }
}

/// Units of an image that are opened, however many there are.
const MOST: usize = 32;
/// Units of which the length is asked.
const ASKED: usize = 8 * MOST;

/// The largest of an image's units, in order; a writer or `ppin db gc` makes the others few.
#[must_use]
pub fn worth_opening(dir: &Folder, mut names: Vec<UnitName>) -> Vec<UnitName> {
    if names.len() <= MOST {
        return names;
    }
    if names.len() > ASKED {
        // The oldest and the newest.
        names.drain(ASKED / 2..names.len() - ASKED / 2);
    }
    let size = |name: &UnitName| dir.size_of(&name.file_name());
    let mut sized: Vec<(u64, UnitName)> = names.iter().map(|name| (size(name), *name)).collect();
    sized.sort_unstable_by_key(|one| Reverse(*one));
    // Of the same length they are probably the same.
    let mut others = sized.clone();
    sized.dedup_by_key(|one| one.0);
    others.retain(|one| {
        sized
            .binary_search_by_key(&Reverse(*one), |x| Reverse(*x))
            .is_err()
    });
    let mut chosen: Vec<UnitName> = sized.iter().chain(&others).map(|one| one.1).collect();
    chosen.truncate(MOST);
    chosen.sort_unstable();
    chosen
}
