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
    for _ in 0..DEPTH {
        let start = vm.cache.directory.fragments.len() as u32;
        for (pc, context) in unknown_targets(vm, id, &from) {
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
    let image = vm.images.get(id);
    let unknown = |(off, context): &(ImageOff, Context)| {
        let pc = off.at(image.base);
        let here = vm.images.region(pc).is_some_and(|r| r.image == id);
        let fresh = vm.cache.directory.get(pc, *context).is_some();
        here && !fresh && !image.units.iter().any(|u| u.has(*off, *context))
    };
    let fragments = from
        .iter()
        .map(|n| &vm.cache.directory.fragments[*n as usize].code);
    let targets = fragments.flat_map(successors).filter(unknown);
    targets
        .map(|(off, context)| (off.at(image.base), context))
        .collect()
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
