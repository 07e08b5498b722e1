//! Using persisted code: finding an image's units, admitting their groups, looking
//! fragments up.
//!
//! A unit is mapped without execute permission. A group becomes executable when it
//! is first needed, after its checksum and the app bytes it was made from have been
//! compared ([`admit`]); links inside the file cannot bypass that, because entering
//! a group that is not admitted faults.

mod admit;
mod bound;
mod identity;
mod locate;
mod map;
mod unlink;

pub use bound::Bound;
pub use identity::of_path;

use crate::cache::place;
use crate::image::naming::{self, Naming};
use crate::image::{Image, ImageId};
use crate::store::Folder;
use crate::sys::time;
use crate::vm::Vm;
use alloc::vec::Vec;
use core::cmp::Reverse;
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::context::Context;
use ppin_persist::paths::{self, UnitName};
use ppin_persist::{Key, LOW_IMAGE, tool_key};

/// The persisted translation of `pc`, ready to run.
pub fn find(vm: &mut Vm, pc: AppPc, context: Context) -> Option<CachePc> {
    if context.without(Context::CONTINUATION) != Context::CANONICAL {
        return None;
    }
    let region = vm.images.region(pc)?;
    ask(vm, region.image);
    let Vm {
        images, stats, ibl, ..
    } = vm;
    let off = pc.offset_from(images.get(region.image).base)?;
    let found = images.with_units(region.image, |image, units| {
        units
            .iter_mut()
            .find_map(|unit| unit.enter(off, context, image, stats, ibl))
    });
    stats.traces_looked_up += u64::from(found.is_some());
    found
}

/// Admits the group that holds cache address `addr`; `false` if it must not be run.
pub fn admit(vm: &mut Vm, addr: u64) -> bool {
    let Vm {
        images, stats, ibl, ..
    } = vm;
    let holds = |image: &Image| image.units.iter().any(|u| u.contains(addr));
    let Some(n) = images.all.iter().position(holds) else {
        return false;
    };
    images.with_units(ImageId(n as u32), |image, units| {
        let unit = units.iter_mut().find(|u| u.contains(addr));
        unit.is_some_and(|unit| {
            let admitted = unit.admit_at(addr, image, stats, ibl);
            if !admitted && unit.is_stub(addr) {
                // Nothing else can take the place of what running code needs.
                crate::report::give_up(format_args!("stubs of {} cannot run", image.path));
            }
            admitted
        })
    })
}

/// Admits everything, and maps nothing more.
pub fn admit_all(vm: &mut Vm) {
    let Vm {
        images, stats, ibl, ..
    } = vm;
    for n in 0..images.all.len() as u32 {
        if images.get(ImageId(n)).gone {
            continue;
        }
        images.get_mut(ImageId(n)).asked = true;
        images.with_units(ImageId(n), |image, units| {
            for unit in units {
                unit.admit_all(image, stats, ibl);
            }
        });
    }
}

/// The app may be about to use up all mappings: code takes up as few as possible from here
/// on, and needs no more later.
pub fn join_all(vm: &mut Vm) {
    let Vm {
        images, stats, ibl, ..
    } = vm;
    for n in 0..images.all.len() as u32 {
        if !images.get(ImageId(n)).gone {
            images.with_units(ImageId(n), |image, units| {
                units
                    .iter_mut()
                    .for_each(|unit| unit.join(image, stats, ibl));
            });
        }
    }
}

/// Maps the image's units, the first time one of its addresses is sought.
fn ask(vm: &mut Vm, id: ImageId) {
    if vm.images.get(id).asked || !vm.config.reads() {
        return;
    }
    let started = time::ticks();
    vm.images.get_mut(id).asked = true;
    if let Some(key) = key_of(vm, id) {
        let databases: Vec<_> = core::iter::once(&vm.config.db)
            .chain(&vm.config.db_stack)
            .cloned()
            .collect();
        for (n, db) in databases.iter().enumerate() {
            map_units(vm, id, &key, db);
            vm.note_refusals();
            if n == 0 {
                let image = vm.images.get_mut(id);
                image.explored = image.units.last().is_none_or(Bound::is_explored);
            }
        }
    }
    vm.stats.time.load += time::ticks().saturating_sub(started);
}

/// Key under which code of an image is saved; `None` if it cannot be named for other runs.
pub fn key_to_save(vm: &mut Vm, id: ImageId) -> Option<Key> {
    naming::check(vm.images.get_mut(id))
        .then(|| key_of(vm, id))
        .flatten()
}

/// Key of an image's units.
pub fn key_of(vm: &mut Vm, id: ImageId) -> Option<Key> {
    let image = vm.images.get(id);
    if image.gone || image.naming == Naming::Local {
        return None;
    }
    let identity = image.identity.or_else(|| identity::of_image(image))?;
    let image = vm.images.get_mut(id);
    image.identity = Some(identity);
    let low = image.base.0 < place::LOW;
    Some(Key {
        image: identity,
        engine: vm.config.engine_id,
        tool: vm_tool_key(vm, if low { LOW_IMAGE } else { b"" }),
    })
}

fn vm_tool_key(vm: &Vm, options: &[u8]) -> [u8; 32] {
    let changing: Vec<&str> = vm
        .tool
        .knobs()
        .iter()
        .filter(|k| k.changes_code)
        .map(|k| k.name)
        .collect();
    let mut knobs: Vec<&str> = vm
        .config
        .knobs
        .iter()
        .map(alloc::string::String::as_str)
        .filter(|k| {
            k.split_once('=')
                .is_some_and(|(name, _)| changing.contains(&name))
        })
        .collect();
    knobs.sort_unstable();
    tool_key(
        vm.config.tool.as_bytes(),
        knobs.join("\n").as_bytes(),
        options,
    )
}

fn map_units(vm: &mut Vm, id: ImageId, key: &Key, db: &str) {
    let Some(dir) = vm.store.folder(db, &paths::unit_dir(key)) else {
        return;
    };
    if vm.config.writes() && !vm.no_save && *db == *vm.config.db {
        vm.store.note_use(&dir);
    }
    for name in worth_opening(&dir, dir.unit_names()) {
        map_unit(vm, id, key, &dir, &name);
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

/// Maps one unit for image `id`; what is wrong with it is noted.
pub fn map_unit(vm: &mut Vm, id: ImageId, key: &Key, dir: &Folder, name: &UnitName) {
    let image = vm.images.get(id);
    let file = name.file_name();
    match map::open(dir, name, key, image, vm.config.flags) {
        Ok(unit) => {
            vm.stats.units_mapped += u64::from(unit.is_some());
            vm.images.get_mut(id).units.extend(unit);
            vm.log(format_args!("unit {file}"));
        }
        Err(map::Unfit { reason, damaged }) => {
            vm.log(format_args!("unit {file} refused: {reason}"));
            vm.stats.note(alloc::format!("{file}: {reason}"));
            if damaged {
                vm.images.get_mut(id).damaged.push(*name);
            }
        }
    }
}

/// Unmaps the units of an image that the app has unmapped.
pub fn release(image: &mut Image) -> Vec<(u64, u64)> {
    image.units.drain(..).map(|u| u.unmap()).collect()
}

/// Maps a unit only to look into its index.
#[must_use]
pub fn peek_unit(dir: &Folder, name: &UnitName, key: &Key, image: &Image) -> Option<Bound> {
    map::open(dir, name, key, image, 0).ok().flatten()
}
