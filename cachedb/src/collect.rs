//! Collection: everything that keeps the database small and tidy.

use crate::compact::Compacted;
use crate::entry::ImageEntry;
use crate::error::{Context, Error};
use crate::open::Database;
use crate::remove::Removed;
use crate::trust;
use nix::fcntl::{Flock, FlockArg};
use ppin_persist::evict::{self, Candidate};
use ppin_persist::paths::{GROWTH, TIDY_LOCK, is_abandoned, is_left_behind};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Options of a collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GcOptions {
    /// Bytes that units may take; dead images go first, then those used longest ago.
    pub cap: Option<u64>,
    /// Remove units of images whose file is gone or has other contents now.
    pub remove_dead: bool,
    /// Merge the units of each image.
    pub compact: bool,
    /// Remove units that are damaged, lie in the wrong place, or are of other
    /// versions of the format.
    pub remove_damaged: bool,
}

/// Outcome of a collection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Collected {
    /// Result of the compaction.
    pub compacted: Compacted,
    /// Damaged and outdated units.
    pub damaged: Removed,
    /// Units of images whose file is gone or has other contents now.
    pub dead: Removed,
    /// Units removed to get below the cap.
    pub evicted: Removed,
    /// Abandoned temporary files.
    pub temporary: u64,
    /// Bytes of units that remain.
    pub remaining: u64,
}

impl Database {
    /// Tidies up as `options` say. Programs may run and save meanwhile.
    ///
    /// # Errors
    /// Another process is at it, or the system refuses.
    pub fn collect(&self, options: &GcOptions) -> Result<Collected, Error> {
        self.writable()?;
        let start = SystemTime::now();
        let mut collected = Collected::default();
        if options.remove_damaged {
            self.remove_damaged(&mut collected)?;
        }
        if options.remove_dead {
            self.remove_dead(&mut collected)?;
        }
        if options.compact {
            collected.compacted = self.compact()?;
        }
        let _lock = self.tidy_lock()?;
        if let Some(cap) = options.cap {
            self.evict(cap, &mut collected)?;
        }
        self.sweep(&mut collected)?;
        collected.remaining = self.list()?.iter().map(ImageEntry::bytes).sum();
        self.counted(collected.remaining);
        self.sync(start)?;
        Ok(collected)
    }

    fn remove_dead(&self, collected: &mut Collected) -> Result<(), Error> {
        for image in self.list()?.iter().filter(|image| self.is_dead(image)) {
            self.remove_image(image, &mut collected.dead)?;
        }
        Ok(())
    }

    /// Tells runs how large the database is: see `ppin_persist::evict`.
    fn counted(&self, bytes: u64) {
        if let Ok(file) = trust::open_lock(&self.path().join(GROWTH)) {
            let _ = file.set_len(evict::growth(bytes).max(1));
        }
    }

    fn remove_damaged(&self, collected: &mut Collected) -> Result<(), Error> {
        let verified = self.verify_new(|_, _| ())?;
        let damaged = verified.damage.into_iter().filter_map(|damage| damage.unit);
        for unit in damaged.chain(verified.outdated) {
            let full = self.path().join(unit.relative());
            collected.damaged.bytes += fs::symlink_metadata(&full).map_or(0, |meta| meta.len());
            collected.damaged.units += 1;
            self.remove_path(&full)?;
        }
        Ok(())
    }

    fn evict(&self, cap: u64, collected: &mut Collected) -> Result<(), Error> {
        let images = self.list()?;
        let total: u64 = images.iter().map(ImageEntry::bytes).sum();
        if total <= cap {
            return Ok(());
        }
        let candidate = |image: &ImageEntry| Candidate {
            bytes: image.bytes(),
            used: image.used,
            dead: self.is_dead(image),
            needed: false,
        };
        let candidates: Vec<_> = images.iter().map(candidate).collect();
        for number in evict::choose(&candidates, cap) {
            self.remove_image(&images[number], &mut collected.evicted)?;
        }
        Ok(())
    }

    /// Leftovers: plans that are of no use, damaged answers of the processor, abandoned temporary files, empty directories.
    fn sweep(&self, collected: &mut Collected) -> Result<(), Error> {
        let scan = self.scan()?;
        self.sweep_plans(&scan)?;
        self.sweep_answers()?;
        for path in scan.temporary.iter().filter(|path| left_behind(path)) {
            self.remove_path(path)?;
            collected.temporary += 1;
        }
        for dir in scan.image_dirs.iter().filter(|dir| abandoned(dir)) {
            let key_dir = dir.parent().unwrap_or(dir).to_owned();
            self.files.remove_dir(dir).context("remove", dir)?;
            if abandoned(&key_dir) {
                self.files
                    .remove_dir(&key_dir)
                    .context("remove", &key_dir)?;
            }
        }
        Ok(())
    }

    /// The lock of the process that merges or evicts; no process waits for it.
    pub(crate) fn tidy_lock(&self) -> Result<Flock<File>, Error> {
        self.writable()?;
        let path: PathBuf = self.path().join(TIDY_LOCK);
        let file = trust::open_lock(&path).context("open", &path)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(lock),
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => Err(Error::Busy),
            Err((_, errno)) => Err(std::io::Error::from(errno)).context("lock", &path),
        }
    }
}

fn now() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs() as i64)
}

/// Whether the writer of a temporary file is dead.
fn left_behind(path: &Path) -> bool {
    trust::open_file(path).is_ok_and(|(file, meta)| {
        let locked = Flock::lock(file, FlockArg::LockExclusiveNonblock).is_err();
        is_left_behind(meta.ctime(), now(), locked)
    })
}

/// Whether nothing has happened to it for long.
fn abandoned(path: &Path) -> bool {
    let now = now();
    fs::symlink_metadata(path).is_ok_and(|meta| is_abandoned(meta.ctime(), now))
}
