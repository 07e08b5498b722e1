//! The catalog: facts from the heads of units as they were last read, and which units were
//! verified to the last byte.
//!
//! ```text
//! catalog/lock     held (flock) while the catalog is open; no process waits for it
//! catalog/seal     checksum of the store as it was closed
//! catalog/store/   sled
//! ```
//! sled trusts its own files further than we may trust a disk, so the store is only
//! opened if it is byte for byte what was closed; else it is thrown away. A process
//! that dies with the catalog open has removed the seal before, with the same effect.

use crate::entry::UnitFacts;
use crate::error::{Context, Error};
use crate::scan::{UnitPath, children, path_of};
use crate::trust;
use nix::fcntl::{Flock, FlockArg};
use ppin_persist::Key;
use ppin_persist::start::FileState;
use rkyv::rancor;
use rkyv::{Archive, Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3Default;

/// Counts changes of [`Record`].
const VERSION: u64 = 2;

/// An open catalog. Its methods cannot fail; after an error it holds fewer records.
#[derive(Debug)]
pub(crate) struct Catalog {
    dir: PathBuf,
    store: sled::Db,
    /// Released last.
    _lock: Flock<File>,
}

#[derive(Archive, Serialize, Deserialize)]
struct Record {
    len: u64,
    ino: u64,
    mtime: (i64, u32),
    ctime: (i64, u32),
    image: [u8; 32],
    engine: [u8; 32],
    tool: [u8; 32],
    fragments: u32,
    checksum: u64,
    sound: bool,
    image_path: Vec<u8>,
    label: String,
}

impl Catalog {
    /// Opens it, or makes a new one. `None` if another process has it, or if it
    /// cannot be made.
    pub(crate) fn open(dir: &Path) -> Option<Self> {
        trust::create_dir(dir).ok()?;
        trust::check_dir(dir).ok()?;
        let lock = lock(dir).ok()??;
        if !sealed(dir) {
            clear(dir).ok()?;
        }
        fs::remove_file(dir.join("seal")).or_else(gone).ok()?;
        let store = sled::Config::new()
            .path(dir.join("store"))
            .mode(sled::Mode::LowSpace)
            .cache_capacity(4 << 20)
            .flush_every_ms(None)
            .open()
            .ok()?;
        Some(Self {
            dir: dir.to_owned(),
            store,
            _lock: lock,
        })
    }

    /// Removes it.
    pub(crate) fn discard(dir: &Path) -> Result<(), Error> {
        if !dir.exists() {
            return Ok(());
        }
        trust::check_dir(dir)?;
        let _lock = lock(dir)
            .context("lock the catalog", dir)?
            .ok_or(Error::Busy)?;
        clear(dir).context("remove", dir)
    }

    /// The facts recorded for a unit, if its file is in the same state as when they were recorded.
    pub(crate) fn get(&self, path: &UnitPath, state: &FileState) -> Option<UnitFacts> {
        let bytes = self.store.get(name(path)).ok()??;
        let record = rkyv::from_bytes::<Record, rancor::Error>(&bytes).ok()?;
        let known = FileState {
            len: record.len,
            ino: record.ino,
            mtime: record.mtime,
            ctime: record.ctime,
        };
        (known == *state).then(|| UnitFacts {
            key: Key {
                image: record.image,
                engine: record.engine,
                tool: record.tool,
            },
            fragments: record.fragments,
            image_path: path_of(&record.image_path),
            label: record.label,
            checksum: record.checksum,
            sound: record.sound,
        })
    }

    /// Records the facts of a unit, unless the same are recorded.
    pub(crate) fn put(&self, path: &UnitPath, state: &FileState, facts: &UnitFacts) {
        let record = Record {
            len: state.len,
            ino: state.ino,
            mtime: state.mtime,
            ctime: state.ctime,
            image: facts.key.image,
            engine: facts.key.engine,
            tool: facts.key.tool,
            fragments: facts.fragments,
            checksum: facts.checksum,
            sound: facts.sound,
            image_path: facts.image_path.as_os_str().as_bytes().to_vec(),
            label: facts.label.clone(),
        };
        if let Ok(bytes) = rkyv::to_bytes::<rancor::Error>(&record) {
            let name = name(path);
            let known = self.store.get(&name).ok().flatten();
            if known.is_none_or(|known| known != bytes.as_slice()) {
                let _ = self.store.insert(name, bytes.as_slice());
            }
        }
    }

    /// Removes the records of all other units.
    pub(crate) fn keep_only(&self, paths: &[UnitPath]) {
        let keep: HashSet<_> = paths.iter().map(name).collect();
        for key in self.store.iter().keys().flatten() {
            if !keep.contains(&*key) {
                let _ = self.store.remove(key);
            }
        }
    }

    /// Writes it out and seals it.
    pub(crate) fn close(self) {
        let Self { dir, store, _lock } = self;
        let written = store.flush().is_ok();
        drop(store);
        if written && let Ok(seal) = store_checksum(&dir) {
            let _ = fs::write(dir.join("seal"), seal.to_le_bytes());
        }
    }
}

/// Key of a record: the parts of the path, which sort as the units do.
fn name(path: &UnitPath) -> Vec<u8> {
    let mut name = Vec::with_capacity(60);
    name.extend_from_slice(&path.key_dir);
    name.extend_from_slice(&path.image);
    name.extend_from_slice(&path.name.seq.to_be_bytes());
    name.extend_from_slice(&path.name.tag.to_be_bytes());
    name
}

/// The lock, or `None` if another process has it.
fn lock(dir: &Path) -> io::Result<Option<Flock<File>>> {
    match Flock::lock(
        trust::open_lock(&dir.join("lock"))?,
        FlockArg::LockExclusiveNonblock,
    ) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, errno)) => Err(errno.into()),
    }
}

fn sealed(dir: &Path) -> bool {
    let seal = trust::read(&dir.join("seal")).ok();
    let found = store_checksum(dir).ok();
    match (seal, found) {
        (Some(seal), Some(found)) => seal == found.to_le_bytes(),
        _ => false,
    }
}

fn clear(dir: &Path) -> io::Result<()> {
    fs::remove_file(dir.join("seal")).or_else(gone)?;
    fs::remove_dir_all(dir.join("store")).or_else(gone)
}

fn gone(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}

/// Checksum over names and contents of the store's files.
fn store_checksum(dir: &Path) -> Result<u64, Error> {
    let mut hash = Xxh3Default::new();
    hash.update(&VERSION.to_le_bytes());
    let mut pending = vec![dir.join("store")];
    let mut files = Vec::new();
    while let Some(dir) = pending.pop() {
        for (path, _) in children(&dir)? {
            let meta = fs::symlink_metadata(&path).context("look at", &path)?;
            if meta.is_dir() {
                pending.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort_unstable();
    for path in files {
        let bytes = trust::read(&path)?;
        let name = path.strip_prefix(dir).unwrap_or(&path);
        hash.update(name.as_os_str().as_bytes());
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    Ok(hash.digest())
}
