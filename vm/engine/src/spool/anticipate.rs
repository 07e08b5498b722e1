//! Translating what was nearly executed.
//!
//! Some branches go one way in this run and the other in the next, because addresses
//! differ (page-crossing tests of string functions, hashes of pointers). So what lies beside
//! the traces that a run had to translate is translated, too, before units are frozen: the
//! next run is likely to come by there. A run does so within its [`Allowance`]; a first run,
//! whose traces are many, looks only around string functions, whose ways depend on where in
//! its page and in its vector a string lies.
//!
//! A run that explores (`ppin warm`) looks at the other sides of all branches that any run
//! of the program has executed, until the image is marked as explored.

use super::allowance::Allowance;
use super::{may_save, savable, string_code};
use crate::install;
use crate::vm::Vm;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use ppin_abi::addr::{AppPc, ImageOff};
use ppin_abi::context::Context;
use ppin_codecache::image::ImageId;
use ppin_codecache::unit::Bound;
use ppin_os::file;
use ppin_persist::paths::unit_dir;
use ppin_relocator::{Fragment, SlotInit};

/// Branches in a row behind a new trace.
const DEPTH: u32 = 6;
/// Branches in a row behind string code and siblings.
const SHORT: u32 = 4;
/// Bytes from a sibling within which it is followed: loops over the slots of a hash
/// table, the last bytes of a string, another attempt.
const NEAR: u32 = 256;
/// Siblings nearest to new traces, which are followed as far as those.
const NEAREST: usize = 100;
/// New traces beyond which a run counts as a first one.
const FEW: usize = 300;
/// Traces that a run which explores may add to an image, however small it is.
const MOST: usize = 6000;
/// So much of what is known of it may be added, too: few runs are enough for all.
const SHARE: u32 = 3;
/// Room that must be left in the cache, more than any trace takes.
const ROOM: u64 = 4 << 20;

/// A place to translate.
type Target = (ImageOff, Context);

/// Adds the neighbours of the image's traces; whether that were all. `program`: the
/// process's own file, in a run that explores.
pub fn neighbours(vm: &mut Vm, id: ImageId, program: &str, allowance: &mut Allowance) -> bool {
    // What is watched for sequences could not be saved.
    let possible = has_room(vm) && !vm.rseq.watching;
    if !possible || !allowance.exploring && allowance.traces == 0 {
        return false;
    }
    let compiled = vm.code.figures.traces_compiled;
    let first = vm.code.fresh.directory.fragments.len();
    let all = add(vm, id, program, *allowance);
    let fragments = &mut vm.code.fresh.directory.fragments;
    allowance.translated(fragments.len() - first);
    for added in &mut fragments[first..] {
        added.anticipated = true;
    }
    vm.code.figures.traces_anticipated += vm.code.figures.traces_compiled - compiled;
    vm.code.figures.traces_compiled = compiled;
    all
}

fn add(vm: &mut Vm, id: ImageId, program: &str, allowance: Allowance) -> bool {
    let fresh = savable(vm, id);
    let image = vm.code.images.get(id);
    let known: u32 = vm.code.units.of(id).iter().map(Bound::fragments).sum();
    let thorough = allowance.exploring && image.path == program;
    let most = vm.code.fresh.directory.fragments.len()
        + if allowance.exploring {
            MOST.max((known / SHARE) as usize)
        } else {
            allowance.traces
        };
    if !thorough && (fresh.len() > FEW || known == 0) {
        let wave = behind_string_code(vm, &fresh).collect();
        follow(vm, id, wave, SHORT, most, |_| true);
        return false;
    }
    let siblings = siblings(vm, id, &fresh, allowance.exploring);
    add_siblings(vm, id, &fresh, &siblings, most);
    allowance.exploring && vm.code.fresh.directory.fragments.len() < most
}

/// Whether another trace fits in without a flush, which would take away those that are
/// being added to.
fn has_room(vm: &Vm) -> bool {
    vm.code.fresh.size() + ROOM <= vm.code.fresh.limit && !vm.code.is_short(vm.quiet)
}

/// Whether an image without fresh traces shall be explored all the same: that of `program`.
/// Not a library: what another program runs of it would lie scattered among what none does.
pub fn is_due(vm: &mut Vm, id: ImageId, program: &str) -> bool {
    let image = vm.code.images.get(id);
    let own = !program.is_empty() && image.path == program;
    if !own || image.explored || !may_save(image) {
        return false;
    }
    let key = vm.code.key_of(&vm.library, id);
    key.is_some_and(|key| {
        let dir = alloc::format!("{}/{}", vm.config.db, unit_dir(&key));
        file::is_writable(&dir)
    })
}

/// Adds what follows `fresh` and its nearest siblings, and the siblings farther away.
fn add_siblings(vm: &mut Vm, id: ImageId, fresh: &[u32], siblings: &[Target], most: usize) {
    let (near, far) = siblings.split_at(NEAREST.min(siblings.len()));
    let mut wave: BTreeSet<Target> = successors_of(vm, fresh).collect();
    wave.extend(near);
    follow(vm, id, wave, DEPTH, most, |_| true);
    for sibling in far {
        let near = |(off, _): &Target| off.0.abs_diff(sibling.0.0) < NEAR;
        follow(vm, id, BTreeSet::from([*sibling]), SHORT, most, near);
    }
}

/// Translates `wave` and what follows it, up to `depth` branches in a row, where it is
/// `wanted`.
fn follow(
    vm: &mut Vm,
    id: ImageId,
    mut wave: BTreeSet<Target>,
    depth: u32,
    most: usize,
    wanted: impl Fn(&Target) -> bool,
) {
    for _ in 0..depth {
        let targets = wave.into_iter().filter(&wanted);
        let reached: Vec<u32> = targets
            .filter_map(|target| translate(vm, id, target, most))
            .collect();
        wave = successors_of(vm, &reached).collect();
    }
}

/// Translates `target` if it lies in the image, has no translation, and the cache has room
/// and fewer than `most` fragments; the fresh fragment that is there.
fn translate(vm: &mut Vm, id: ImageId, (off, context): Target, most: usize) -> Option<u32> {
    let pc = off.at(vm.code.images.get(id).base);
    let here = vm.code.images.region(pc).is_some_and(|r| r.image == id);
    let room = vm.code.fresh.directory.fragments.len() < most && has_room(vm);
    if here && room && !is_known(vm, id, pc, off, context) {
        install::compile(vm, pc, context);
    }
    vm.code.fresh.directory.get(pc, context).filter(|_| here)
}

fn is_known(vm: &Vm, id: ImageId, pc: AppPc, off: ImageOff, context: Context) -> bool {
    vm.code.fresh.directory.get(pc, context).is_some() || has(vm.code.units.of(id), off, context)
}

fn has(units: &[Bound], off: ImageOff, context: Context) -> bool {
    units.iter().any(|unit| unit.has(off, context))
}

/// Where executed traces of earlier runs may lead and nothing is translated yet, the
/// nearest to `fresh` first: what went another way once in a function will do so at
/// its other branches. Unless `all` are wanted, those within [`NEAR`].
fn siblings(vm: &Vm, id: ImageId, fresh: &[u32], all: bool) -> Vec<Target> {
    let mut heads: Vec<i32> = fresh
        .iter()
        .map(|n| vm.code.fresh.directory.fragments[*n as usize].code.head.0)
        .collect();
    heads.sort_unstable();
    let _image = vm.code.images.get(id);
    let exits = vm.code.units.of(id).iter().flat_map(|unit| {
        let heads = if all { &[][..] } else { &heads[..] };
        unit.executed_exits(heads, NEAR)
    });
    let mut found: Vec<(u32, Target)> = exits
        .filter(|(_, off, context)| !has(vm.code.units.of(id), *off, *context))
        .map(|(head, off, context)| (distance(&heads, head.0), (off, context)))
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(_, target)| target).collect()
}

/// To the nearest of the sorted `heads`.
fn distance(heads: &[i32], head: i32) -> u32 {
    let at = heads.partition_point(|other| *other < head);
    let around = heads[at.saturating_sub(1)..].iter().take(2);
    around.map(|other| other.abs_diff(head)).min().unwrap_or(0)
}

/// Direct exits, and the return points of calls, whose addresses lie in slots.
fn successors_of(vm: &Vm, fragments: &[u32]) -> impl Iterator<Item = Target> {
    fragments
        .iter()
        .flat_map(|n| successors(&vm.code.fresh.directory.fragments[*n as usize].code))
}

fn successors(code: &Fragment) -> impl Iterator<Item = Target> {
    let returns = code.slots.iter().filter_map(|slot| match slot {
        SlotInit::App(off) => Some((*off, Context::CANONICAL)),
        _ => None,
    });
    code.exits
        .iter()
        .map(|e| (e.target, e.context))
        .chain(returns)
}

/// Where string functions may lead.
fn behind_string_code(vm: &Vm, fresh: &[u32]) -> impl Iterator<Item = Target> {
    let codes = fresh
        .iter()
        .map(|n| &vm.code.fresh.directory.fragments[*n as usize].code);
    codes
        .filter(|code| string_code::is(&code.hot))
        .flat_map(successors)
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn the_nearest_head_counts() {
        let heads = [10, 100, 1000];
        for (head, expected) in [
            (0, 10),
            (10, 0),
            (60, 40),
            (54, 44),
            (990, 10),
            (2000, 1000),
        ] {
            assert_eq!(distance(&heads, head), expected, "{head}");
        }
    }
}
