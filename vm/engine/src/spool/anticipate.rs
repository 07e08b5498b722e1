//! Translating what was nearly executed.
//!
//! Some branches go one way in this run and the other in the next, because addresses
//! differ (page-crossing tests of string functions, hashes of pointers). So the other
//! sides of branches that any run has executed are translated, too, before units are
//! frozen, and what follows new traces: the next run is likely to come by there.
//!
//! A first run, whose traces are many, does not pay for all that: it looks only around
//! string functions, whose ways depend on where in its page and in its vector a string
//! lies, and differ in one run of a few hundred. The next runs look around the program's
//! own code, a bounded piece each, until the image is marked as explored.

use super::{may_save, savable, string_code};
use crate::budget;
use crate::image::{Image, ImageId};
use crate::install;
use crate::restore::{self, Bound};
use crate::sys::file;
use crate::vm::Vm;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use ppin_abi::addr::{AppPc, ImageOff};
use ppin_abi::context::Context;
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
/// Traces that may be added to an image in any one run: about 25 ms.
const MOST: usize = 6000;
/// So much of what is known of it may be added, too: few runs are enough for all.
const SHARE: u32 = 3;
/// Room that must be left in the cache, more than any trace takes.
const ROOM: u64 = 4 << 20;

/// A place to translate.
type Target = (ImageOff, Context);

/// Adds the neighbours of the image's traces; whether that were all. `program`: the
/// process's own file.
pub fn neighbours(vm: &mut Vm, id: ImageId, program: &str) -> bool {
    let fresh = savable(vm, id);
    // What is watched for sequences could not be saved.
    let possible = has_room(vm) && !vm.rseq.watching;
    if !possible || fresh.is_empty() && !is_due(vm, id, program) {
        return false;
    }
    let compiled = vm.stats.traces_compiled;
    let first = vm.cache.directory.fragments.len();
    let units = &vm.images.get(id).units;
    let known: u32 = units.iter().map(Bound::fragments).sum();
    let few = fresh.len() <= FEW && known > 0;
    let most = first + MOST.max((known / SHARE) as usize);
    if few {
        add_siblings(vm, id, &fresh, most);
    } else {
        let wave = behind_string_code(vm, &fresh).collect();
        follow(vm, id, wave, SHORT, first + MOST, |_| true);
    }
    for added in &mut vm.cache.directory.fragments[first..] {
        added.anticipated = true;
    }
    vm.stats.traces_anticipated += vm.stats.traces_compiled - compiled;
    vm.stats.traces_compiled = compiled;
    few && vm.cache.directory.fragments.len() < most
}

/// Whether another trace fits in without a flush, which would take away those that are
/// being added to.
fn has_room(vm: &Vm) -> bool {
    vm.cache.size() + ROOM <= vm.cache.limit && !budget::is_short(vm)
}

/// Whether an image without fresh traces shall be explored all the same. Not a library:
/// what another program runs of it would lie scattered among what none does.
fn is_due(vm: &mut Vm, id: ImageId, program: &str) -> bool {
    let image = vm.images.get(id);
    if image.explored || image.path != program || !may_save(image) {
        return false;
    }
    let key = restore::key_of(vm, id, false);
    key.is_some_and(|key| file::is_writable(&super::directory(vm, &key)))
}

/// Adds what follows `fresh` and its nearest siblings, and the siblings farther away.
fn add_siblings(vm: &mut Vm, id: ImageId, fresh: &[u32], most: usize) {
    let siblings = siblings(vm, id, fresh);
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
    let pc = off.at(vm.images.get(id).base);
    let here = vm.images.region(pc).is_some_and(|r| r.image == id);
    let room = vm.cache.directory.fragments.len() < most && has_room(vm);
    if here && room && !is_known(vm, id, pc, off, context) {
        install::compile(vm, pc, context);
    }
    vm.cache.directory.get(pc, context).filter(|_| here)
}

fn is_known(vm: &Vm, id: ImageId, pc: AppPc, off: ImageOff, context: Context) -> bool {
    vm.cache.directory.get(pc, context).is_some() || has(vm.images.get(id), off, context)
}

fn has(image: &Image, off: ImageOff, context: Context) -> bool {
    image.units.iter().any(|unit| unit.has(off, context))
}

/// Where executed traces of earlier runs may lead and nothing is translated yet, the
/// nearest to `fresh` first: what went another way once in a function will do so at
/// its other branches.
fn siblings(vm: &Vm, id: ImageId, fresh: &[u32]) -> Vec<Target> {
    let mut heads: Vec<i32> = fresh
        .iter()
        .map(|n| vm.cache.directory.fragments[*n as usize].code.head.0)
        .collect();
    heads.sort_unstable();
    let image = vm.images.get(id);
    let exits = image.units.iter().flat_map(|unit| unit.executed_exits());
    let mut found: Vec<(u32, Target)> = exits
        .filter(|(_, off, context)| !has(image, *off, *context))
        .map(|(head, off, context)| (distance(&heads, head.0), (off, context)))
        .collect();
    found.sort_unstable();
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
        .flat_map(|n| successors(&vm.cache.directory.fragments[*n as usize].code))
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
        .map(|n| &vm.cache.directory.fragments[*n as usize].code);
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
