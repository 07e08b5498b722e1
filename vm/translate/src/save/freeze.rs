//! Freezing: writes the fresh fragments of each image to a new unit file.
//!
//! An error does not affect the program: it becomes a note in the statistics.

use super::allowance::Allowance;
use super::asked::Asked;
use super::copies;
use super::places::Places;
use super::tidy::{self, Means, Tidied};
use crate::aside;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_codecache::fresh::{FragmentId, Fresh, Reached};
use ppin_codecache::room;
use ppin_codecache::unit::{Bound, Written, worth_opening};
use ppin_images::{Image, ImageId};
use ppin_os::{mem, place, regions, time};
use ppin_persist::paths::{self, UnitName};
use ppin_persist::{Key, MAX_COLD, MAX_HOT, Piece, UnitSpec, freeze as freeze_bytes, unit_flag};
use ppin_process::hints::Hint;
use ppin_process::vm::Vm;
use ppin_relocator::{Fragment, RelocKind};
use ppin_store::cap::TidyLock;
use ppin_store::{self as store, Folder};

/// Adds traces to an image that later runs are likely to need, before it is frozen.
pub(super) trait Explorer {
    /// Whether an image without fresh traces shall still be explored.
    fn is_due(&self, vm: &mut Vm, id: ImageId) -> bool;
    /// Adds neighbours of the image's traces; returns whether all were added.
    fn explore(&self, vm: &mut Vm, id: ImageId, allowance: &mut Allowance) -> bool;
}

/// Explorer that adds no traces.
pub(super) struct AddNothing;

impl Explorer for AddNothing {
    fn is_due(&self, _: &mut Vm, _: ImageId) -> bool {
        false
    }

    fn explore(&self, _: &mut Vm, _: ImageId, _: &mut Allowance) -> bool {
        false
    }
}

/// Freezes all fresh fragments and maps the new units at once, because the cache is about to be
/// flushed.
pub fn in_passing(vm: &mut Vm) {
    if !vm.library().may_save() {
        return;
    }
    let started = time::ticks();
    let allowance = &mut Allowance::in_passing();
    let places = &mut Places::default();
    for id in vm.code().images().ids() {
        remove_damaged(vm, id);
        if let Some(new) = freeze(vm, id, (allowance, places), &AddNothing) {
            let (code, library) = vm.code_and_library();
            code.map_written(library, &new);
        }
    }
    note_refusals(vm);
    let ticks = time::ticks().saturating_sub(started);
    vm.code_mut().add_time_to_persist(ticks);
}

/// Freezes all fresh fragments, for the last time in this process or for a long time.
pub(super) fn all(vm: &mut Vm, allowance: &mut Allowance, explorer: &impl Explorer) {
    if !vm.library().may_save() {
        return;
    }
    let started = time::ticks();
    let mut written = Vec::new();
    let places = &mut Places::default();
    for image in vm.code().images().ids() {
        remove_damaged(vm, image);
        written.extend(freeze(vm, image, (allowance, places), explorer));
    }
    written.iter().for_each(|unit| tell_parent(vm, unit.image));
    let (code, library) = vm.code_and_library();
    code.save_plan(library, &written);
    keep_cap(vm);
    note_refusals(vm);
    let ticks = time::ticks().saturating_sub(started);
    vm.code_mut().add_time_to_persist(ticks);
}

/// Tells the parent, if this is a forked child, that there is a unit of the image that it does not know: its
/// next child shall find what is in it.
fn tell_parent(vm: &Vm, id: ImageId) {
    let (first, _) = vm.code().images().get(id).span;
    vm.hints().note(Hint::Saved(first));
}

/// Freezes all fresh fragments while the process goes on, without exploring.
pub fn in_run(vm: &mut Vm) {
    let allowance = &mut Allowance::of_run(vm);
    all(vm, allowance, &AddNothing);
}

/// Key of an image's units.
pub(super) fn key_of(vm: &mut Vm, id: ImageId) -> Option<Key> {
    let (code, library) = vm.code_and_library();
    code.key_of(library, id)
}

/// Notes for the statistics which folders could not be used.
fn note_refusals(vm: &mut Vm) {
    let (code, library) = vm.code_and_library();
    code.note_refusals(library);
}

/// Keeps the database below its cap, if this run has added to it.
fn keep_cap(vm: &mut Vm) {
    if !vm.library().has_written() {
        return;
    }
    let cap = vm.config().db_cap;
    let (code, library) = vm.code_and_library();
    let needed = code
        .images()
        .iter()
        .filter_map(|(_, image)| image.identity());
    let needed = needed.collect();
    let ids = code.images().ids();
    let keys: Vec<Option<Key>> = ids
        .map(|id| match code.units().of(id) {
            [] => None,
            _ => code.key_of(library, id),
        })
        .collect();
    let folders = || keys.iter().flatten().map(paths::unit_dir).collect();
    library.keep_below(cap, needed, folders);
}

/// Removes units of the image that this run has found damaged.
fn remove_damaged(vm: &mut Vm, id: ImageId) {
    let names = vm.code_mut().take_damaged(id);
    if names.is_empty() {
        return;
    }
    let Some(key) = key_of(vm, id) else {
        return;
    };
    // (A damaged unit of a read-only database has no namesake in the folder written to.)
    if let Some(dir) = vm.library_mut().own_folder(&paths::unit_dir(&key)) {
        tidy::remove(&dir, &names);
    }
}

/// Freezes the fresh fragments of one image, which may be about to be unmapped.
pub fn freeze_image(vm: &mut Vm, id: ImageId) -> Option<Written> {
    let places = &mut Places::default();
    freeze(vm, id, (&mut Allowance::in_passing(), places), &AddNothing)
}

/// Freezes the fresh fragments of one image, with the traces that `explorer` adds within the
/// allowance, where nothing else lies.
fn freeze(
    vm: &mut Vm,
    id: ImageId,
    (allowance, places): (&mut Allowance, &mut Places),
    explorer: &impl Explorer,
) -> Option<Written> {
    if !vm.library().may_save() {
        return None;
    }
    copies::forget(vm, id);
    let nothing = savable(vm, id).next().is_none();
    if nothing && !explorer.is_due(vm, id) {
        return None;
    }
    let mut draft = Draft::new(vm, id)?;
    forget_published(vm, id, &draft);
    draft.explored = explorer.explore(vm, id, allowance);
    let mut fresh: Vec<FragmentId> = savable(vm, id).collect();
    fresh.sort_by_key(|id| place_in_unit(vm, *id));
    if fresh.is_empty() && (!draft.explored || draft.names.is_empty()) {
        return None;
    }
    if !room::lasts(vm.is_filtered(), work(vm, &fresh)) {
        vm.code_mut()
            .note(String::from("not saved: too little memory"));
        return None;
    }
    let dir = draft.dir.take();
    let new = match &fresh[..] {
        [] => Ok(None),
        fresh => encode(vm, id, &draft, fresh, places).map(Some),
    };
    let written = new.and_then(|new| write(vm, (id, &draft), (dir, new), &fresh, allowance));
    match written {
        Ok(written) => {
            fresh.iter().for_each(|id| vm.code_mut().mark_saved(*id));
            Some(written)
        }
        Err(reason) => {
            vm.code_mut().note(format!("not saved: {reason}"));
            None
        }
    }
}

/// Order of traces in a unit: those that the program has come to, as it has; behind them the others, those of a function
/// beside each other.
fn place_in_unit(vm: &Vm, id: FragmentId) -> Option<ImageOff> {
    let fresh = vm.code().fragment(id);
    let never = fresh.unsaved() == Some(Reached::Never);
    never.then(|| fresh.code().head)
}

/// Memory needed to write these fragments and to merge small units with them.
fn work(vm: &Vm, fresh: &[FragmentId]) -> usize {
    const ROOM: usize = 1 << 20;
    const TIMES: usize = 8;
    let len = |id: &FragmentId| vm.code().fragment(*id).code_len();
    ROOM + TIMES * fresh.iter().map(len).sum::<usize>()
}

/// A unit to be written.
struct Draft {
    key: Key,
    /// The folder of the image's units, if it exists.
    dir: Option<Folder>,
    /// Names of the units in the folder.
    names: Vec<UnitName>,
    name: UnitName,
    /// All neighbours of the traces in this unit and those before it have been explored.
    explored: bool,
}

impl Draft {
    /// The next unit of the image.
    fn new(vm: &mut Vm, id: ImageId) -> Option<Self> {
        let (code, library) = vm.code_and_library();
        let key = code.key_to_save(library, id)?;
        let dir = vm.library_mut().own_folder(&paths::unit_dir(&key));
        let mut names = dir.as_ref().map(Folder::unit_names).unwrap_or_default();
        let seq = names.last().map_or(0, |n| n.seq.saturating_add(1));
        if let Some(dir) = &dir {
            let ours = vm.code().units().of(id).iter().map(Bound::name).collect();
            tidy::drop_copies(dir, &mut names, ours);
        }
        Some(Self {
            key,
            dir,
            names,
            name: UnitName {
                seq,
                tag: store::tag(),
            },
            explored: false,
        })
    }
}

/// The image's fragments that may be frozen, in order of first execution.
pub(super) fn savable(vm: &Vm, id: ImageId) -> impl Iterator<Item = FragmentId> {
    let image = vm.code().images().get(id);
    let (kept, reach) = (image.may_be_kept(), Reach::of(image));
    let fits = |f: &Fresh| {
        let [hot, cold] = f.lens();
        hot <= MAX_HOT && cold <= MAX_COLD
    };
    let wanted =
        move |f: &Fresh| kept && f.context().is_ordinary() && fits(f) && reach.holds_all_of(f);
    vm.code().unsaved(id, wanted)
}

/// Marks fragments as saved that another process, such as a sibling by fork, has published since
/// this image was looked up. They are neither saved nor explored from again. The parent is told, if this is a
/// forked child: it does not have them either.
fn forget_published(vm: &mut Vm, id: ImageId, draft: &Draft) {
    let Some(dir) = &draft.dir else {
        return;
    };
    let mut found = false;
    for name in worth_opening(dir, draft.names.clone()) {
        if vm.code().units().of(id).iter().any(|u| u.name() == name) {
            continue;
        }
        let Some(unit) = vm.code().peek_unit(dir, &name, &draft.key, id) else {
            continue;
        };
        for number in savable(vm, id).collect::<Vec<_>>() {
            let code = vm.code().fragment(number).code();
            if unit.has(code.head, code.context) {
                vm.code_mut().mark_saved(number);
                found = true;
            }
        }
        unit.unmap();
    }
    if found {
        tell_parent(vm, id);
    }
}

/// Bytes above the image base within which the image's code refers to its own addresses.
fn extent(image: &Image) -> u64 {
    let mapped = image.span.1.saturating_sub(image.base.0);
    mapped.max(image.file.map_or(0, |stat| stat.size))
}

/// Displacement of this unit's code below the image. Images and their units get different
/// displacements, so that they seldom collide, those that several processes write at a time included;
/// each `attempt` is another one.
fn displacement(image: &Image, key: &Key, name: UnitName, attempt: u64) -> i64 {
    let low = image.base.0 < place::LOW;
    let (near, far) = place::distances(if low { 0 } else { extent(image) });
    let seed = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|n| key.image[n]));
    let step = name
        .tag
        .wrapping_add(u64::from(name.seq))
        .wrapping_add(attempt << 32);
    let spread = seed.wrapping_add(step.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % (far - near);
    let distance = mem::page_down(near + spread);
    if low {
        return (regions::LOW_CODE + distance) as i64;
    }
    -(distance as i64)
}

/// App addresses that code reaches wherever units of an image may lie. Bytes translated ahead of
/// time may be no code at all, and refer to any address.
struct Reach {
    base: ImageBase,
    /// Addresses within reach of all of these places.
    places: Range<u64>,
}

impl Reach {
    fn of(image: &Image) -> Self {
        let distances = place::distances(extent(image));
        Self {
            base: image.base,
            places: regions::reached_from(image.base.0, distances),
        }
    }

    fn holds_all_of(&self, fresh: &Fresh) -> bool {
        let holds = |off: ImageOff| self.places.contains(&off.at(self.base).0);
        let between = |(low, high)| holds(low) && holds(high);
        self.base.0 < place::LOW
            || fresh.refers_to().is_none_or(between)
            || self.holds_each_of(fresh.code())
    }

    fn holds_each_of(&self, code: &Fragment) -> bool {
        code.relocs.iter().all(|reloc| match reloc.kind {
            RelocKind::App(off) => {
                let at = off.at(self.base).0;
                at < place::LOW || self.places.contains(&at)
            }
            _ => true,
        })
    }
}

/// Writes the unit of image `id` that is `new`, if there is one, to `dir` if that exists already.
fn write(
    vm: &mut Vm,
    (id, draft): (ImageId, &Draft),
    (dir, new): (Option<Folder>, Option<Vec<u8>>),
    fresh: &[FragmentId],
    allowance: &mut Allowance,
) -> Result<Written, String> {
    let asked = &Asked::of(vm, id, fresh);
    let key = &draft.key;
    let names = &copies::without_other_code(vm, id, &draft.names);
    let make = || vm.library_mut().make_own_folder(&paths::unit_dir(key));
    let dir = dir.map_or_else(make, Ok)?;
    // Units that will hardly grow any more are merged into one.
    let whole = (draft.explored && asked.is_nothing_new())
        .then(|| tidy::take_all(new.as_deref(), key, (&dir, names), asked))
        .flatten();
    let Tidied {
        bytes,
        replaces,
        histories,
        lock,
    } = match (whole, new) {
        (Some(whole), _) => whole,
        (None, Some(new)) => {
            let may = allowance.takes_turns;
            let means = Means {
                most: allowance.merge,
                turn: draft.name.seq,
                lock: |much, own| may.then(|| lock_to_merge(vm, much, own)).flatten(),
            };
            tidy::take_in(new, key, (&dir, names), means, asked)
        }
        (None, None) => return Err(format!("{}: units cannot be merged", dir.path())),
    };
    if !replaces.is_empty() {
        allowance.merged(bytes.len() as u64);
    }
    dir.publish(&draft.name.file_name(), &bytes)
        .map_err(|e| format!("{}: cannot write to it ({e})", dir.path()))?;
    tidy::remove(&dir, &replaces);
    drop(lock);
    vm.library_mut().wrote(bytes.len());
    dir.sweep();
    Ok(Written {
        image: id,
        key: *key,
        dir,
        name: draft.name,
        replaces,
        len: bytes.len(),
        histories,
    })
}

/// The lock that whoever merges `much` with its `own` bytes must hold: what several processes merge at the
/// same time is there several times.
fn lock_to_merge(vm: &mut Vm, much: u64, own: u64) -> Option<TidyLock> {
    /// More is left to `ppin db gc`: it would take a run a tenth of a second.
    const MOST: u64 = 16 << 20;
    /// Memory that merging takes for each byte of a unit, and some.
    const TIMES: u64 = 8;
    let may = much <= MOST && room::lasts(vm.is_filtered(), (TIMES * (much + own)) as usize);
    may.then(|| vm.library_mut().lock_to_tidy()).flatten()
}

/// The contents of a unit file with only the fragments `fresh`.
fn encode(
    vm: &Vm,
    id: ImageId,
    draft: &Draft,
    fresh: &[FragmentId],
    places: &mut Places,
) -> Result<Vec<u8>, String> {
    /// Places that are tried.
    const TRIES: u64 = 4;
    let image = vm.code().images().get(id);
    let pieces: Vec<Piece<'_>> = fresh
        .iter()
        .map(|n| {
            let fresh = vm.code().fragment(*n);
            Piece {
                fragment: vm.code().whole_fragment(*n),
                flags: unit_flags(fresh),
                source_hash: fresh.source_hash(),
                tool: &[],
            }
        })
        .collect();
    let label = label(vm);
    let mut spec = UnitSpec {
        key: draft.key,
        displacement: 0,
        image_base: image.base,
        image_path: image.path().as_bytes(),
        label: label.as_bytes(),
        explored: draft.explored,
        entrances: aside::enters(vm),
        fragments: &pieces,
    };
    let mut bytes = Vec::new();
    for attempt in 0..TRIES {
        spec.displacement = displacement(image, &draft.key, draft.name, attempt);
        bytes = freeze_bytes(&spec).map_err(|e| e.to_string())?;
        if places.take(vm.code(), &bytes, image.base) {
            break;
        }
    }
    Ok(bytes)
}

fn unit_flags(fresh: &Fresh) -> u32 {
    match fresh.unsaved() {
        Some(Reached::Never) => unit_flag::ANTICIPATED,
        Some(Reached::Indirectly) => unit_flag::INDIRECT_TARGET,
        Some(Reached::Directly) | None => 0,
    }
}

/// What `ppin db verify --recompile` needs.
fn label(vm: &Vm) -> String {
    let config = vm.config();
    ppin_offline::Label::of_run(&config.tools, config.optimize).to_string()
}
