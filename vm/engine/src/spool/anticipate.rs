//! Translating what was nearly executed.
//!
//! Some branches go one way in this run and the other in the next, because addresses
//! differ (page-crossing tests of string functions, hashes of pointers). When a run
//! adds a few traces to an image that has units already, the other sides of their
//! branches are translated, too, before they are frozen: the next run is likely to
//! come by there. A first run, whose traces are many, does not pay for that.

use super::savable;
use crate::image::ImageId;
use crate::install;
use crate::vm::Vm;
use alloc::collections::BTreeSet;
use ppin_abi::addr::{AppPc, ImageOff};
use ppin_abi::context::Context;
use ppin_relocator::{Fragment, SlotInit};

/// App bytes on both sides that count as near: about a function.
const NEAR: i32 = 1024;
/// Branches in a row.
const DEPTH: u32 = 6;
/// New traces beyond which a run counts as a first one.
const FEW: usize = 300;
/// Most traces to add.
const MOST: usize = 1000;
/// Room that must be left in the cache: filling it would start another freeze.
const ROOM: u64 = 4 << 20;

/// Adds the neighbours of the image's fresh traces.
pub fn neighbours(vm: &mut Vm, id: ImageId) {
    let mut from = savable(vm, id);
    let first_run = vm.images.get(id).units.is_empty() || from.len() > FEW;
    if first_run || vm.cache.size() + ROOM > vm.cache.limit {
        return;
    }
    let compiled = vm.stats.traces_compiled;
    let first_new = vm.cache.directory.fragments.len();
    let nearby = exits_nearby(vm, id, &from);
    for round in 0..DEPTH {
        let start = vm.cache.directory.fragments.len() as u32;
        let mut targets = unknown_targets(vm, id, &from);
        if round == 0 {
            targets.extend(nearby.iter().copied());
        }
        for (pc, context) in targets {
            if vm.cache.directory.fragments.len() - first_new < MOST {
                install::compile(vm, pc, context);
            }
        }
        from = (start..vm.cache.directory.fragments.len() as u32).collect();
    }
    vm.stats.traces_anticipated += vm.stats.traces_compiled - compiled;
    vm.stats.traces_compiled = compiled;
}

/// Where `from` may lead and nothing is translated yet, in order of address: direct
/// exits, and the return points of calls, whose addresses lie in slots.
fn unknown_targets(vm: &Vm, id: ImageId, from: &[u32]) -> BTreeSet<(AppPc, Context)> {
    let fragments = from
        .iter()
        .map(|n| &vm.cache.directory.fragments[*n as usize].code);
    untranslated(vm, id, fragments.flat_map(successors))
}

/// Exits of persisted traces near the fresh ones that lead to nothing yet: what went
/// another way once in a function will do so at its other branches.
fn exits_nearby(vm: &Vm, id: ImageId, from: &[u32]) -> BTreeSet<(AppPc, Context)> {
    let image = vm.images.get(id);
    let heads = from
        .iter()
        .map(|n| vm.cache.directory.fragments[*n as usize].code.head);
    let exits = heads.flat_map(|head| {
        let (low, high) = (
            ImageOff(head.0.saturating_sub(NEAR)),
            ImageOff(head.0.saturating_add(NEAR)),
        );
        image
            .units
            .iter()
            .flat_map(move |unit| unit.exits_between(low, high))
    });
    untranslated(vm, id, exits)
}

/// Those of `targets` that lie in the image and have no translation.
fn untranslated(
    vm: &Vm,
    id: ImageId,
    targets: impl Iterator<Item = (ImageOff, Context)>,
) -> BTreeSet<(AppPc, Context)> {
    let image = vm.images.get(id);
    let places = targets.map(|(off, context)| (off, off.at(image.base), context));
    let unknown = places.filter(|(off, pc, context)| {
        let here = vm.images.region(*pc).is_some_and(|r| r.image == id);
        let fresh = vm.cache.directory.get(*pc, *context).is_some();
        here && !fresh && !image.units.iter().any(|u| u.has(*off, *context))
    });
    unknown.map(|(_, pc, context)| (pc, context)).collect()
}

fn successors(code: &Fragment) -> impl Iterator<Item = (ImageOff, Context)> {
    let returns = code.slots.iter().filter_map(|slot| match slot {
        SlotInit::App(off) => Some((*off, Context::CANONICAL)),
        _ => None,
    });
    code.exits
        .iter()
        .map(|e| (e.target, e.context))
        .chain(returns)
}
