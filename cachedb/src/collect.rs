//! Collection: everything that keeps the database small and tidy.

use crate::compact::Compacted;
use crate::entry::ImageEntry;
use crate::error::{Context, Error};
use crate::open::Database;
use crate::remove::Removed;
use crate::scan::children;
use crate::trust;
use nix::fcntl::{Flock, FlockArg};
use ppin_persist::memo;
use ppin_persist::paths::{MEMO, is_abandoned};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GcOptions {
    /// Bytes that units may take; images used longest ago go first.
    pub cap: Option<u64>,
    /// Merge the units of each image.
    pub compact: bool,
    /// Remove units that are damaged, lie in the wrong place, or are of other
    /// versions of the format.
    pub remove_damaged: bool,
}

/// Outcome of a collection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Collected {
    /// What compaction did.
    pub compacted: Compacted,
    /// Damaged and outdated units.
    pub damaged: Removed,
    /// Units removed to get below the cap.
    pub evicted: Removed,
    /// Abandoned temporary files.
    pub temporary: u64,
    /// Memos that are damaged or of no use.
    pub memos: u64,
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
        let mut collected = Collected::default();
        if options.remove_damaged {
            self.remove_damaged(&mut collected)?;
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
        Ok(collected)
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
        let mut images = self.list()?;
        let mut total: u64 = images.iter().map(ImageEntry::bytes).sum();
        images.sort_by_key(ImageEntry::last_use);
        for image in images {
            if total <= cap {
                break;
            }
            total -= image.bytes();
            self.remove_image(&image, &mut collected.evicted)?;
        }
        Ok(())
    }

    /// Leftovers: abandoned temporary files, empty directories, useless memos.
    fn sweep(&self, collected: &mut Collected) -> Result<(), Error> {
        let scan = self.scan()?;
        let memo_dir = self.path().join(MEMO);
        let memos = match trust::check_dir(&memo_dir) {
            Ok(()) => children(&memo_dir)?,
            Err(_) => Vec::new(),
        };
        let in_memo_dir = memos.iter().filter(|(_, name)| {
            let name = name.as_encoded_bytes();
            name.starts_with(ppin_persist::paths::TEMPORARY.as_bytes())
        });
        let temporary = scan
            .temporary
            .iter()
            .chain(in_memo_dir.map(|(path, _)| path));
        for path in temporary.filter(|path| abandoned(path)) {
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
        let images: HashSet<_> = scan.units.iter().map(|unit| unit.image).collect();
        for (path, name) in memos {
            let temporary = name.as_encoded_bytes().starts_with(b".");
            let useful = || memo_of(&path).is_some_and(|image| images.contains(&image));
            if !temporary && abandoned(&path) && !useful() {
                self.remove_path(&path)?;
                collected.memos += 1;
            }
        }
        Ok(())
    }

    /// Held by whoever merges or evicts; nobody waits for it.
    pub(crate) fn tidy_lock(&self) -> Result<Flock<File>, Error> {
        self.writable()?;
        let path: PathBuf = self.path().join("tidy.lock");
        let file = trust::open_lock(&path).context("open", &path)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(lock),
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => Err(Error::Busy),
            Err((_, errno)) => Err(std::io::Error::from(errno)).context("lock", &path),
        }
    }
}

/// Whether nothing has happened to it for long. The change time: a unit's
/// modification time is no time.
fn abandoned(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs() as i64);
    fs::symlink_metadata(path).is_ok_and(|meta| is_abandoned(meta.ctime(), now))
}

/// The image that a memo is about.
fn memo_of(path: &Path) -> Option<[u8; 32]> {
    let (file, _) = trust::open_file(path).ok()?;
    let mut bytes = Vec::new();
    file.take(memo::MEMO_LEN as u64 + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    memo::decode(&bytes).map(|(_, image)| image)
}
