//! Freezing: fresh fragments of each image become a new unit file.
//!
//! Files are written whole to a temporary name in the same directory and renamed.
//! Nothing here fails the program: what cannot be saved is a note.

mod anticipate;
mod string_code;
mod tidy;

use crate::budget;
use crate::cache::directory::Fresh;
use crate::cache::place;
use crate::host;
use crate::image::{Image, ImageId};
use crate::restore;
use crate::store::Folder;
use crate::sys::{Errno, file, mem, time};
use crate::vm::Vm;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ppin_abi::context::Context;
use ppin_persist::paths::{self, TEMPORARY, UnitName};
use ppin_persist::{Key, Piece, RawUnit, UnitSpec, freeze as freeze_bytes, unit_flag};
use ppin_relocator::FragmentRef;

/// Freezes everything fresh. `remap`: use the new units at once (the cache is about
/// to be flushed).
pub fn freeze_all(vm: &mut Vm, remap: bool) {
    if !vm.config.writes() || vm.no_save {
        return;
    }
    let started = time::ticks();
    let program = if remap {
        String::new()
    } else {
        host::program()
    };
    for n in 0..vm.images.all.len() as u32 {
        let id = ImageId(n);
        let explored = !remap && {
            forget_published(vm, id);
            anticipate::neighbours(vm, id, &program)
        };
        if let Some((key, dir, name)) = freeze(vm, id, explored)
            && remap
        {
            restore::map_unit(vm, id, &key, &dir, &name);
        }
    }
    vm.note_refusals();
    vm.stats.time.persist += time::ticks().saturating_sub(started);
}

/// Freezes the fresh fragments of one image, or of one that is being unmapped.
pub fn freeze_image(vm: &mut Vm, id: ImageId) -> Option<(Key, Folder, UnitName)> {
    freeze(vm, id, false)
}

/// The same; `explored`: and marks what is kept of the image.
fn freeze(vm: &mut Vm, id: ImageId, explored: bool) -> Option<(Key, Folder, UnitName)> {
    let mut fresh = savable(vm, id);
    if fresh.is_empty() && !explored || !vm.config.writes() || vm.no_save {
        return None;
    }
    if !budget::lasts(vm, work(vm, &fresh)) {
        vm.stats.note(String::from("not saved: too little memory"));
        return None;
    }
    let key = restore::key_of(vm, id, true)?;
    let dir = vm.store.folder(&vm.config.db, &paths::unit_dir(&key));
    let names = dir.as_ref().map(Folder::unit_names).unwrap_or_default();
    if let Some(dir) = &dir {
        drop_published(vm, id, &key, dir, &names, &mut fresh);
    }
    if fresh.is_empty() && (!explored || names.is_empty()) {
        return None;
    }
    let seq = names.last().map_or(0, |n| n.seq + 1);
    let name = UnitName { seq, tag: tag() };
    let draft = Draft {
        key,
        names,
        name,
        explored,
    };
    match write(vm, id, &draft, dir, &fresh) {
        Ok(dir) => {
            for number in &fresh {
                vm.cache.directory.fragments[*number as usize].saved = true;
            }
            Some((draft.key, dir, draft.name))
        }
        Err(reason) => {
            vm.stats.note(format!("not saved: {reason}"));
            None
        }
    }
}

/// Memory that it takes to write these fragments and to take small neighbours in.
fn work(vm: &Vm, fresh: &[u32]) -> usize {
    const ROOM: usize = 1 << 20;
    const TIMES: usize = 8;
    let len = |n: &u32| {
        let code = &vm.cache.directory.fragments[*n as usize].code;
        code.hot.len() + code.cold.len()
    };
    ROOM + TIMES * fresh.iter().map(len).sum::<usize>()
}

/// A unit to be written.
struct Draft {
    key: Key,
    /// What is there.
    names: Vec<UnitName>,
    name: UnitName,
    /// All neighbours of what it and those before it hold have been looked at.
    explored: bool,
}

/// Directory of the units of `key`.
fn directory(vm: &Vm, key: &Key) -> String {
    format!("{}/{}", vm.config.db, paths::unit_dir(key))
}

/// Whether code of the image may be kept.
pub fn may_save(image: &Image) -> bool {
    !image.gone && (image.file.is_some() || image.path == "[vdso]")
}

/// Numbers of the image's fragments that may be frozen, in order of first execution.
fn savable(vm: &Vm, id: ImageId) -> Vec<u32> {
    if !may_save(vm.images.get(id)) {
        return Vec::new();
    }
    let wanted = |f: &Fresh| {
        f.listed
            && !f.dead
            && !f.saved
            && f.code.context.without(Context::CONTINUATION) == Context::CANONICAL
    };
    let directory = &vm.cache.directory;
    let all = directory.of_image(id).iter().copied();
    all.filter(|n| wanted(&directory.fragments[*n as usize]))
        .collect()
}

/// What another process has published meanwhile, a sibling by fork above all, is neither
/// saved nor explored from again.
fn forget_published(vm: &mut Vm, id: ImageId) {
    let all = savable(vm, id);
    if all.is_empty() {
        return;
    }
    let Some(key) = restore::key_of(vm, id, true) else {
        return;
    };
    let Some(dir) = vm.store.folder(&vm.config.db, &paths::unit_dir(&key)) else {
        return;
    };
    let names = dir.unit_names();
    let mut fresh = all.clone();
    drop_published(vm, id, &key, &dir, &names, &mut fresh);
    for number in all.iter().filter(|n| fresh.binary_search(n).is_err()) {
        vm.cache.directory.fragments[*number as usize].saved = true;
    }
}

/// Leaves out what another process has published since this image was asked for.
fn drop_published(
    vm: &mut Vm,
    id: ImageId,
    key: &Key,
    dir: &Folder,
    names: &[UnitName],
    fresh: &mut Vec<u32>,
) {
    for name in names {
        if vm.images.get(id).units.iter().any(|u| u.name() == *name) {
            continue;
        }
        let image = vm.images.get(id);
        if let Some(unit) = restore::peek_unit(dir, name, key, image) {
            let fragments = &vm.cache.directory.fragments;
            fresh.retain(|n| {
                let code = &fragments[*n as usize].code;
                !unit.has(code.head, code.context)
            });
            unit.unmap();
        }
    }
}

/// Tells writers of one sequence number apart.
fn tag() -> u64 {
    let clock = time::monotonic_ns();
    clock.rotate_left(24) ^ (crate::sys::proc::pid() as u64) << 32
}

/// Bytes below the image at which this unit's code shall lie: images and their units
/// get different ones, so that they seldom collide.
fn displacement(base: u64, key: &Key, seq: u32) -> i64 {
    let half = (place::FARTHEST - place::NEAREST) / 2;
    let seed = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|n| key.image[n]));
    let spread =
        seed.wrapping_add(u64::from(seq).wrapping_mul(0x9e37_79b9_7f4a_7c15)) % (half - (64 << 20));
    let distance = mem::page_down(place::NEAREST + half + (64 << 20) + spread);
    if base < place::LOW {
        return (place::LOW_CODE + distance) as i64;
    }
    -(distance as i64)
}

/// Writes it, to `dir` if that is there already; the folder that it lies in.
fn write(
    vm: &mut Vm,
    id: ImageId,
    draft: &Draft,
    dir: Option<Folder>,
    fresh: &[u32],
) -> Result<Folder, String> {
    let new = if fresh.is_empty() {
        None
    } else {
        Some(encode(vm, id, draft, fresh)?)
    };
    let fragments = &vm.cache.directory.fragments;
    let reached = fresh.iter().any(|n| !fragments[*n as usize].anticipated);
    let Draft { key, names, .. } = draft;
    let dir = dir.map_or_else(
        || vm.store.make_folder(&vm.config.db, &paths::unit_dir(key)),
        Ok,
    )?;
    // What will hardly grow any more is worth the work of making it one.
    let whole = (draft.explored && !reached)
        .then(|| tidy::take_all(new.as_deref(), key, &dir, names))
        .flatten();
    let tidied = match (whole, new) {
        (Some(whole), _) => whole,
        (None, Some(new)) if !reached => tidy::leave(new),
        (None, Some(new)) => tidy::take_in(new, key, &dir, names),
        (None, None) => return Err(format!("{}: units cannot be merged", dir.path())),
    };
    let bytes = &tidied.bytes;
    let unit = RawUnit::new(bytes, bytes.len() as u64)
        .and_then(RawUnit::verify_any)
        .map_err(|e| e.to_string())?;
    let mtime = Some(unit.mtime_token());
    publish(&dir, &draft.name.file_name(), bytes, mtime)
        .map_err(|e| format!("{}: cannot write to it ({e})", dir.path()))?;
    tidy::remove(&dir, &tidied.replaces);
    tidy::sweep(&dir);
    Ok(dir)
}

/// The unit file of `fresh` alone.
fn encode(vm: &Vm, id: ImageId, draft: &Draft, fresh: &[u32]) -> Result<Vec<u8>, String> {
    let image = vm.images.get(id);
    let pieces: Vec<Piece<'_>> = fresh
        .iter()
        .map(|n| {
            let fresh = &vm.cache.directory.fragments[*n as usize];
            Piece {
                fragment: FragmentRef::from(&fresh.code),
                flags: unit_flags(fresh),
                source_hash: fresh.source_hash,
                tool: &[],
            }
        })
        .collect();
    let label = label(vm);
    let spec = UnitSpec {
        key: draft.key,
        displacement: displacement(image.base.0, &draft.key, draft.name.seq),
        image_base: image.base,
        image_path: image.path.as_bytes(),
        label: label.as_bytes(),
        explored: draft.explored,
        fragments: &pieces,
    };
    freeze_bytes(&spec).map_err(|e| e.to_string())
}

fn unit_flags(fresh: &Fresh) -> u32 {
    let flag = |on: bool, bit: u32| if on { bit } else { 0 };
    flag(fresh.indirect, unit_flag::INDIRECT_TARGET)
        | flag(fresh.anticipated, unit_flag::ANTICIPATED)
}

/// The tool's name and knobs, a line each: what `ppin db verify --recompile` needs.
fn label(vm: &Vm) -> String {
    let lines = core::iter::once(&vm.config.tool).chain(&vm.config.knobs);
    lines.map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// Writes `bytes` to the file `name` by way of a temporary name; `mtime` marks the file as
/// untouched since.
///
/// # Errors
/// The kernel's; nothing is left behind.
pub fn publish(
    dir: &Folder,
    name: &str,
    bytes: &[u8],
    mtime: Option<(i64, u32)>,
) -> Result<(), Errno> {
    const EFBIG: Errno = Errno(27);
    if !file::may_write(bytes.len()) {
        return Err(EFBIG);
    }
    let temporary = format!("{TEMPORARY}{:016x}", tag());
    let written =
        write_file(dir, &temporary, bytes, mtime).and_then(|()| dir.rename(&temporary, name));
    if written.is_err() {
        let _ = dir.remove(&temporary);
    }
    written
}

fn write_file(
    dir: &Folder,
    name: &str,
    bytes: &[u8],
    mtime: Option<(i64, u32)>,
) -> Result<(), Errno> {
    let file = dir.create(name, paths::FILE_MODE)?;
    file.write_all(bytes)?;
    mtime.map_or(Ok(()), |(seconds, nanos)| file.set_mtime(seconds, nanos))
}
