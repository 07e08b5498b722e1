//! Keeping the database below its cap (`ppin_persist::evict`).
//!
//! A run that has written adds to the file that tells how much the database has grown. Only
//! when that says that the cap may be passed, all of it is counted, and what is of least use
//! goes. Who else has the lock does that already.

use super::{Folder, Store};
use crate::image::ImageId;
use crate::restore;
use crate::sys::file::{self, File};
use crate::sys::{Errno, c};
use crate::vm::Vm;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use ppin_persist::evict::{self, Candidate};
use ppin_persist::paths::{FILE_MODE, GROWTH, TIDY_LOCK, UNITS, from_hex, unit_dir};
use ppin_persist::{Geometry, Head};

/// Identity of an image.
type Identity = [u8; 32];

/// Units of an image.
struct Found {
    /// Their folder, under the database.
    relative: String,
    image: Identity,
    bytes: u64,
    used: (i64, u32),
}

/// At the end of a run: what it has written is counted.
pub fn keep(vm: &mut Vm) {
    let written = core::mem::take(&mut vm.store.written);
    if written == 0 {
        return;
    }
    if core::mem::take(&mut vm.store.began) {
        note_uses(vm);
    }
    if may_be_above(vm, written) {
        look(vm);
    }
}

/// What is used along with a new image is as new.
fn note_uses(vm: &mut Vm) {
    for n in 0..vm.images.all.len() as u32 {
        let used = !vm.images.get(ImageId(n)).units.is_empty();
        if used && let Some(key) = restore::key_of(vm, ImageId(n)) {
            file::touch(&format!("{}/{}", vm.config.db, unit_dir(&key)));
        }
    }
}

/// Notes the growth; whether the cap may be passed, or nothing is known yet.
fn may_be_above(vm: &mut Vm, written: u64) -> bool {
    let added = evict::growth(written) as usize;
    let Some((file, before)) = growth_file(vm) else {
        return false;
    };
    let after = before + added as u64;
    if !file::may_write(after as usize) || file.write_all(&vec![0; added]).is_err() {
        return false;
    }
    before == 0 || after > vm.config.db_cap / evict::GROWTH_UNIT
}

/// The file, and its length.
fn growth_file(vm: &mut Vm) -> Option<(File, u64)> {
    let file = vm.store.own_file(&vm.config.db, GROWTH, c::O_APPEND)?;
    let len = file.stat().ok()?.size;
    Some((file, len))
}

/// Counts everything, and makes room if it is too much.
fn look(vm: &mut Vm) {
    let Some(lock) = vm.store.own_file(&vm.config.db, TIDY_LOCK, 0) else {
        return;
    };
    if lock.lock().is_err() {
        return;
    }
    let db = vm.config.db.clone();
    let all = count(&mut vm.store, &db);
    let mut total: u64 = all.iter().map(|found| found.bytes).sum();
    if total > vm.config.db_cap {
        let chosen = choose(vm, &db, &all);
        for found in chosen.iter().map(|n| &all[*n]) {
            total -= found.bytes;
            remove(&mut vm.store, &db, found);
        }
    }
    if let Some((file, _)) = growth_file(vm) {
        let len = evict::growth(total).max(1);
        if file::may_write(len as usize) {
            let _ = file.set_len(len);
        }
    }
}

fn count(store: &mut Store, db: &str) -> Vec<Found> {
    let mut all = Vec::new();
    let keys = store
        .folder(db, UNITS)
        .map_or(Vec::new(), |dir| dir.names());
    for key in keys.iter().filter(|name| name.len() == 32) {
        let key = format!("{UNITS}/{key}");
        let images = store.folder(db, &key).map_or(Vec::new(), |dir| dir.names());
        for name in images {
            let Some(image) = from_hex::<32>(name.as_bytes()) else {
                continue;
            };
            let relative = format!("{key}/{name}");
            if let Some(dir) = store.folder(db, &relative) {
                all.push(Found {
                    relative,
                    image,
                    bytes: dir.names().iter().map(|name| dir.size_of(name)).sum(),
                    used: dir.stat().mtime,
                });
            }
        }
    }
    all
}

fn choose(vm: &mut Vm, db: &str, all: &[Found]) -> Vec<usize> {
    let needed: BTreeSet<Identity> = vm
        .images
        .all
        .iter()
        .filter_map(|image| image.identity)
        .collect();
    let candidates: Vec<Candidate> = all
        .iter()
        .map(|found| Candidate {
            bytes: found.bytes,
            used: found.used.0,
            dead: is_dead(&mut vm.store, db, found),
            needed: needed.contains(&found.image),
        })
        .collect();
    evict::choose(&candidates, vm.config.db_cap)
}

/// Whether the image's file is gone, or has become another.
fn is_dead(store: &mut Store, db: &str, found: &Found) -> bool {
    const ENOENT: i32 = 2;
    const ENOTDIR: i32 = 20;
    let Some(path) = store
        .folder(db, &found.relative)
        .and_then(|dir| image_path(&dir))
    else {
        // Nothing readable.
        return true;
    };
    if !path.starts_with('/') {
        return false;
    }
    match file::stat_of(&path) {
        Ok(_) => restore::of_path(&path).is_some_and(|identity| identity != found.image),
        Err(Errno(e)) => e == ENOENT || e == ENOTDIR,
    }
}

/// Path of the image as one of its units says.
fn image_path(dir: &Folder) -> Option<String> {
    const MOSTLY: usize = 4096;
    dir.unit_names().iter().rev().find_map(|name| {
        let (file, stat) = dir.open_file(&name.file_name()).ok()?;
        let mut head = vec![0; MOSTLY];
        let read = file.read_at(&mut head, 0).ok()?;
        let len = Geometry::peek(&head[..read], stat.size).ok()?.head_len as usize;
        if len > read {
            head.resize(len, 0);
            file.read_at(&mut head, 0).ok()?;
        }
        let head = Head::verify(&head, stat.size).ok()?;
        Some(String::from_utf8_lossy(head.image_path).into_owned())
    })
}

fn remove(store: &mut Store, db: &str, found: &Found) {
    let Some(dir) = store.folder(db, &found.relative) else {
        return;
    };
    for name in dir.names() {
        let _ = dir.remove(&name);
    }
    let path = format!("{db}/{}", found.relative);
    file::remove_dir(&path);
    // The folder above it goes with the last.
    if let Some((above, _)) = path.rsplit_once('/') {
        file::remove_dir(above);
    }
}

impl Store {
    /// Opens a file of the database's own folder for writing, or makes it.
    fn own_file(&mut self, db: &str, name: &str, flags: u32) -> Option<File> {
        if !self.leads(db, "") {
            return None;
        }
        let path = format!("{db}/{name}");
        let flags = flags | c::O_WRONLY | c::O_CREAT | c::O_NOFOLLOW | c::O_NONBLOCK;
        let file = File::open(&path, flags, FILE_MODE).ok()?;
        let user = self.user();
        let stat = file.stat().ok()?;
        match super::judged(ppin_persist::trust::Kind::File, &stat, user) {
            Ok(()) => Some(file),
            Err(fault) => {
                self.refuse(&path, &fault);
                None
            }
        }
    }
}
