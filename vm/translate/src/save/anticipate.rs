//! Translates neighbours of executed traces ahead of time. Before units are frozen, the neighbours
//! of the traces that a run had to translate are translated, too, since the next run is likely to
//! reach them. [`ppin_offline::explore`] decides which traces those are. An ordinary run stays
//! within its [`Allowance`]; a run that explores (`ppin warm`) goes on until the image is marked as
//! explored.

use super::allowance::Allowance;
use super::freeze::{self, Explorer, savable};
use super::named::Named;
use crate::{aside, compile};
use alloc::string::String;
use alloc::vec::Vec;
use ppin_abi::addr::{AppPc, ImageOff};
use ppin_abi::boot::flag;
use ppin_abi::places;
use ppin_codecache::fresh::FragmentId;
use ppin_codecache::unit::Bound;
use ppin_images::ImageId;
use ppin_offline::Target;
use ppin_offline::explore::{self, Approach, Search, Situation, string_code};
use ppin_os::file;
use ppin_persist::paths::unit_dir;
use ppin_process::report::program;
use ppin_process::vm::Vm;
use ppin_relocator::Fragment;

/// Bytes that must be free in the cache, more than any trace takes.
const ROOM: u64 = 4 << 20;

/// Freezes all fresh fragments at the end of a process, and traces that the next run is likely to
/// need.
pub fn at_end(vm: &mut Vm) {
    let allowance = &mut Allowance::of_run(vm);
    if let Some(named) = Named::read(&vm.config().places) {
        return freeze::all(vm, allowance, &named);
    }
    let beside = Beside {
        program: allowance.exploring.then(program::program),
    };
    freeze::all(vm, allowance, &beside);
}

/// Whether [`at_end`] would do nothing: nothing was translated, nothing learnt, and nothing is wrong
/// with what is kept. (Refused folders are for the statistics only.)
#[must_use]
pub fn has_nothing(vm: &Vm) -> bool {
    let code = vm.code();
    let explores = vm.config().flags & flag::EXPLORE != 0;
    !vm.library().may_save()
        || !explores && !code.has_unsaved() && !code.has_damaged() && !code.wants_plan()
}

/// Explorer that adds the neighbours of this run's traces.
struct Beside {
    /// Path of the program, in a run that explores.
    program: Option<String>,
}

impl Explorer for Beside {
    fn is_due(&self, vm: &mut Vm, id: ImageId) -> bool {
        let program = self.program.as_deref();
        program.is_some_and(|program| is_due(vm, id, program))
    }

    fn explore(&self, vm: &mut Vm, id: ImageId, allowance: &mut Allowance) -> bool {
        neighbours(vm, id, self.program.as_deref(), allowance)
    }
}

impl Explorer for Named {
    fn is_due(&self, vm: &mut Vm, id: ImageId) -> bool {
        let image = vm.code().images().get(id);
        self.is(image.path()) && image.may_be_kept()
    }

    fn explore(&self, vm: &mut Vm, id: ImageId, _: &mut Allowance) -> bool {
        let here = self.is(vm.code().images().get(id).path());
        here && is_possible(vm) && anticipating(vm, |vm| self.translate(vm, id))
    }
}

impl Named {
    /// Adds what the places lead to, as far as there is room; returns whether there was.
    fn translate(&self, vm: &mut Vm, id: ImageId) -> bool {
        let targets: Vec<Target> = self.targets().collect();
        let base = vm.code().images().get(id).base;
        for target in &targets {
            // (No place of the image may have been asked for yet.)
            let (code, library) = vm.code_and_library();
            if code
                .find_persisted(library, target.off.at(base), target.context, false)
                .is_some()
            {
                continue;
            }
            translate(vm, id, *target, (usize::MAX, true));
        }
        follow(vm, id, Search::everywhere(targets.into_iter()), usize::MAX);
        let all = has_room(vm);
        if !all {
            vm.code_mut().note(String::from(places::LEFT));
        }
        all
    }
}

/// Adds the neighbours of the image's traces; returns whether all were added. `program`: path of
/// the program, in a run that explores.
fn neighbours(vm: &mut Vm, id: ImageId, program: Option<&str>, allowance: &mut Allowance) -> bool {
    if !is_possible(vm) || !allowance.exploring && allowance.traces == 0 {
        return false;
    }
    let first = vm.code().fragments();
    let all = anticipating(vm, |vm| add(vm, id, program, *allowance));
    allowance.translated(vm.code().fragments() - first);
    all
}

/// Whether traces can be added and saved. (Code whose stores are watched for sequences cannot.)
fn is_possible(vm: &Vm) -> bool {
    has_room(vm) && !vm.rseq().is_watching()
}

/// Notes that the program has not come to the traces that `add` adds.
fn anticipating(vm: &mut Vm, add: impl FnOnce(&mut Vm) -> bool) -> bool {
    let compiled = vm.code().figures().traces_compiled;
    let first = vm.code().fragments();
    let all = add(vm);
    vm.code_mut().mark_anticipated(first);
    vm.code_mut().count_anticipated(compiled);
    all
}

fn add(vm: &mut Vm, id: ImageId, program: Option<&str>, allowance: Allowance) -> bool {
    let fresh: Vec<FragmentId> = savable(vm, id).collect();
    let image = vm.code().images().get(id);
    let situation = Situation {
        exploring: allowance.exploring,
        own: program == Some(image.path()),
        fresh: fresh.len(),
        known: vm.code().units().of(id).iter().map(Bound::fragments).sum(),
        allowed: allowance.traces,
    };
    let most = vm.code().fragments() + situation.most();
    let approach = situation.approach();
    let siblings = siblings_of(vm, id, &fresh, approach);
    let search = match approach {
        Approach::StringCode => Search::behind_string_code(string_code(vm, &fresh)),
        _ => Search::beside(codes(vm, &fresh), siblings),
    };
    follow(vm, id, search, most);
    if allowance.exploring {
        // Earlier runs may not have got as far.
        let behind = behind_string_code(vm, id).into_iter();
        follow(vm, id, Search::again_behind_string_code(behind), most);
    }
    approach == Approach::AllBranches && vm.code().fragments() < most
}

/// Whether another trace fits into the cache without a flush, which would remove the traces whose
/// neighbours are added.
fn has_room(vm: &Vm) -> bool {
    vm.code().has_room(ROOM) && !vm.code().is_short(vm.is_filtered())
}

/// Whether an image without fresh traces shall still be explored in a run that explores: that of
/// `program` until it has been, a library as far as its string code goes. All of a library is not:
/// traces that other programs need would lie scattered among traces that no program needs.
fn is_due(vm: &mut Vm, id: ImageId, program: &str) -> bool {
    let images = vm.code().images();
    let image = images.get(id);
    let done = image.path() == program && images.is_explored(id);
    if done || !image.may_be_kept() {
        return false;
    }
    let key = freeze::key_of(vm, id);
    key.is_some_and(|key| {
        let dir = alloc::format!("{}/{}", vm.config().db, unit_dir(&key));
        file::is_writable(&dir)
    })
}

/// Translates the targets that `search` asks for.
fn follow(vm: &mut Vm, id: ImageId, mut search: Search, most: usize) {
    while let Some(wave) = search.wave() {
        let known = match search.passes_known() {
            true => exits_of_known(vm, id, &wave),
            false => Vec::new(),
        };
        let targets = wave.into_iter();
        let reached: Vec<FragmentId> = targets
            .filter_map(|target| translate(vm, id, target, (most, false)))
            .collect();
        search.reached(codes(vm, &reached));
        search.passed(known.into_iter());
    }
}

/// Where those of the places lead that a unit has.
fn exits_of_known(vm: &Vm, id: ImageId, places: &[Target]) -> Vec<Target> {
    let units = vm.code().units().of(id);
    let exits = places.iter().flat_map(|place| {
        let exits = units
            .iter()
            .map(|unit| unit.exits_at(place.off, place.context));
        exits.flatten()
    });
    exits
        .map(|(off, context)| Target { off, context })
        .collect()
}

/// Where string code leads that earlier runs have executed. Their allowance may have ended before
/// all of that was translated.
fn behind_string_code(vm: &Vm, id: ImageId) -> Vec<Target> {
    let units = vm.code().units().of(id).iter();
    let exits = units.flat_map(|unit| unit.exits_of_code(string_code::is));
    exits
        .map(|(off, context)| Target { off, context })
        .collect()
}

/// Translates `target` if it lies in the image, has no translation, and the cache has room and
/// fewer than `most` fragments. Returns the fresh fragment of `target`. `arrives`: an indirect branch may lead there.
fn translate(
    vm: &mut Vm,
    id: ImageId,
    target: Target,
    (most, arrives): (usize, bool),
) -> Option<FragmentId> {
    let pc = target.off.at(vm.code().images().get(id).base);
    let here = vm.code().images().region(pc).is_some_and(|r| r.image == id);
    let room = vm.code().fragments() < most && has_room(vm);
    if here && room && !is_known(vm, id, pc, target) {
        // (No sequence may be discovered any more, so the result can be ignored.)
        let _ = compile::compile(vm, pc, target.context, arrives);
    }
    vm.code().known(pc, target.context).filter(|_| here)
}

fn is_known(vm: &Vm, id: ImageId, pc: AppPc, target: Target) -> bool {
    let (code, units) = (vm.code(), vm.code().units().of(id));
    let known = code.known(pc, target.context).is_some() || has(units, target);
    let inside = || code.holds(pc) || units.iter().any(|unit| unit.holds(target.off));
    known || aside::may_enter(vm, pc, target.context) && inside()
}

fn has(units: &[Bound], target: Target) -> bool {
    units
        .iter()
        .any(|unit| unit.has(target.off, target.context))
}

/// Exits of traces executed in earlier runs whose targets have no translation yet.
fn siblings_of(vm: &Vm, id: ImageId, fresh: &[FragmentId], approach: Approach) -> Vec<Target> {
    if approach == Approach::StringCode {
        return Vec::new();
    }
    let near: &[ImageOff] = &heads(vm, fresh);
    let heads = match approach {
        Approach::AllBranches => &[],
        _ => near,
    };
    let units = vm.code().units().of(id);
    let exits = units.iter();
    let exits = exits.flat_map(|unit| unit.executed_exits(heads, explore::NEAR));
    let exits = exits.map(|(head, off, context)| (head, Target { off, context }));
    explore::siblings(near, exits, |target| has(units, *target))
}

/// Heads of the fragments, ascending.
fn heads(vm: &Vm, fragments: &[FragmentId]) -> Vec<ImageOff> {
    let mut heads: Vec<ImageOff> = codes(vm, fragments).map(|code| code.head).collect();
    heads.sort_unstable();
    heads
}

/// The code of those of the `fragments` that look like parts of string functions.
fn string_code<'a>(vm: &'a Vm, fragments: &'a [FragmentId]) -> impl Iterator<Item = &'a Fragment> {
    let strings = fragments.iter().filter(|id| vm.code().is_string_code(**id));
    strings.map(|id| vm.code().fragment(*id).code())
}

/// The code of `fragments`.
fn codes<'a>(vm: &'a Vm, fragments: &'a [FragmentId]) -> impl Iterator<Item = &'a Fragment> {
    fragments.iter().map(|id| vm.code().fragment(*id).code())
}
