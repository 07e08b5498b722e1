//! Keeping the database below its cap (`ppin_persist::evict`).
//!
//! A run that has written units adds to the file that records how much the database has grown. Only
//! when the file says that the cap may be exceeded, all units are counted, and the least useful are
//! removed. If another process holds the lock, it is doing that already.

use crate::trusted::judged;
use crate::{Folder, Store, identity};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use ppin_os::file::{self, File};
use ppin_os::{Errno, c};
use ppin_persist::evict::{self, Candidate};
use ppin_persist::paths::{FILE_MODE, GROWTH, TIDY_LOCK, UNITS, from_hex};
use ppin_persist::{Geometry, Head};

/// Identity of an image (`ppin_persist::identity`).
pub type Identity = [u8; 32];

/// The folder with the units of an image.
struct Found {
    /// Path of the folder, relative to the database.
    relative: String,
    image: Identity,
    bytes: u64,
    used: (i64, u32),
}

/// Facts about the run and the database that it has written to.
#[derive(Debug)]
pub struct Written<'a> {
    /// The database.
    pub db: &'a str,
    /// Bytes that its units may take.
    pub cap: u64,
    /// Identities of the images that the run uses; their units are not removed.
    pub needed: BTreeSet<Identity>,
}

/// Counts what the run has written, at its end, and keeps the database below its cap. `used`
/// returns the folders of the units that the run uses, relative to the database.
pub fn keep(store: &mut Store, written: &Written<'_>, used: impl FnOnce() -> Vec<String>) {
    let bytes = core::mem::take(&mut store.written);
    if bytes == 0 {
        return;
    }
    if core::mem::take(&mut store.began) {
        // Units used together with those of a new image count as used now.
        for folder in used() {
            file::touch(&format!("{}/{folder}", written.db));
        }
    }
    if may_be_above(store, written, bytes) {
        look(store, written);
    }
}

/// Adds the growth to the file; returns whether the cap may be exceeded, or the size is unknown.
fn may_be_above(store: &mut Store, written: &Written<'_>, bytes: u64) -> bool {
    let added = evict::growth(bytes) as usize;
    let Some((file, before)) = growth_file(store, written.db) else {
        return false;
    };
    let after = before + added as u64;
    if !file::may_write(after as usize) || file.write_all(&vec![0; added]).is_err() {
        return false;
    }
    before == 0 || after > written.cap / evict::GROWTH_UNIT
}

/// The growth file, and its length.
fn growth_file(store: &mut Store, db: &str) -> Option<(File, u64)> {
    let file = store.own_file(db, GROWTH, c::O_APPEND)?;
    let len = file.stat().ok()?.size;
    Some((file, len))
}

/// Counts all units, and removes some if they exceed the cap.
fn look(store: &mut Store, written: &Written<'_>) {
    let db = written.db;
    let Some(_lock) = store.lock_to_tidy(db) else {
        return;
    };
    let all = count(store, db);
    let mut total: u64 = all.iter().map(|found| found.bytes).sum();
    if total > written.cap {
        let chosen = choose(store, written, &all);
        for found in chosen.iter().map(|n| &all[*n]) {
            total -= found.bytes;
            remove(store, db, found);
        }
    }
    if let Some((file, _)) = growth_file(store, db) {
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

fn choose(store: &mut Store, written: &Written<'_>, all: &[Found]) -> Vec<usize> {
    let candidates: Vec<Candidate> = all
        .iter()
        .map(|found| Candidate {
            bytes: found.bytes,
            used: found.used.0,
            dead: is_dead(store, written.db, found),
            needed: written.needed.contains(&found.image),
        })
        .collect();
    evict::choose(&candidates, written.cap)
}

/// Whether the image's file is gone, or another image is at its path.
fn is_dead(store: &mut Store, db: &str, found: &Found) -> bool {
    let Some(path) = store
        .folder(db, &found.relative)
        .and_then(|dir| image_path(&dir))
    else {
        // No unit is readable.
        return true;
    };
    if !path.starts_with('/') {
        return false;
    }
    match file::stat_of(&path) {
        Ok(_) => identity::of_path(&path).is_some_and(|identity| identity != found.image),
        Err(e) => e == Errno::ENOENT || e == Errno::ENOTDIR,
    }
}

/// Path of the image, from the head of one of its units.
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
    // The folder above is removed with the last folder in it.
    if let Some((above, _)) = path.rsplit_once('/') {
        file::remove_dir(above);
    }
}

/// The lock of a database for what only one process at a time should do. It ends with the value.
#[derive(Debug)]
pub struct TidyLock(#[expect(dead_code, reason = "open as long as it is held")] File);

impl Store {
    /// Takes the lock of database `db`, which may be written to; `None` if another process has it.
    pub fn lock_to_tidy(&mut self, db: &str) -> Option<TidyLock> {
        let file = self.own_file(db, TIDY_LOCK, 0)?;
        file.lock().is_ok().then_some(TidyLock(file))
    }

    /// Opens or creates a file in the database's own folder for writing.
    fn own_file(&mut self, db: &str, name: &str, flags: u32) -> Option<File> {
        if !self.leads(db, "") {
            return None;
        }
        let path = format!("{db}/{name}");
        let flags = flags | c::O_WRONLY | c::O_CREAT | c::O_NOFOLLOW | c::O_NONBLOCK;
        let file = File::open(&path, flags, FILE_MODE).ok()?;
        let user = self.user();
        let stat = file.stat().ok()?;
        match judged(ppin_persist::trust::Kind::File, &stat, user) {
            Ok(()) => Some(file),
            Err(fault) => {
                self.refuse(&path, &fault);
                None
            }
        }
    }
}
