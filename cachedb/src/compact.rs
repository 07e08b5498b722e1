//! Compaction: the units of one image made into one.
//!
//! The new unit takes the sequence of the first under a new tag, and is there, whole
//! and synced, before an old one goes. A reader that comes in between finds all
//! fragments at least once; one that listed before and opens later misses some and
//! translates them, which is correct.

use crate::entry::open_unit;
use crate::error::{Context, Error};
use crate::files::publish;
use crate::list::folder_time;
use crate::open::Database;
use crate::profile::Profile;
use crate::scan::UnitPath;
use crate::trust;
use ppin_persist::paths::UnitName;
use ppin_persist::{Head, UnitFile, merge_as};
use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

/// Outcome of a compaction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Compacted {
    /// Images whose units were merged.
    pub images: u64,
    /// Units that went into others.
    pub units: u64,
    /// Fragments that were there more than once.
    pub duplicates: u64,
    /// Units left alone because they are damaged, each with its reason.
    pub damaged: Vec<(UnitPath, String)>,
}

impl Database {
    /// Merges the units of each image that has more than one.
    ///
    /// # Errors
    /// Another process is at it, or the system refuses.
    pub fn compact(&self) -> Result<Compacted, Error> {
        self.compact_since(i64::MIN)
    }

    /// The same for images that were used at `since` (in seconds) or later.
    ///
    /// # Errors
    /// As [`Database::compact`].
    pub fn compact_since(&self, since: i64) -> Result<Compacted, Error> {
        let _lock = self.tidy_lock()?;
        let scan = self.scan()?;
        let mut compacted = Compacted::default();
        let mut profile = Profile::read(&scan.plans);
        let same = |a: &UnitPath, b: &UnitPath| (a.key_dir, a.image) == (b.key_dir, b.image);
        for units in scan.units.chunk_by(same) {
            let used = || folder_time(&self.path().join(units[0].dir()));
            if units.len() > 1 && used() >= since {
                self.compact_image(units, &mut profile, &mut compacted)?;
            }
        }
        profile.write(&*self.files)?;
        Ok(compacted)
    }

    fn compact_image(
        &self,
        units: &[UnitPath],
        profile: &mut Profile,
        compacted: &mut Compacted,
    ) -> Result<(), Error> {
        let mut sound = Vec::new();
        for path in units {
            match self.read(path) {
                Ok(None) => {}
                Ok(Some(bytes)) => match open_unit(path, &bytes).and_then(|unit| unit.verify_all())
                {
                    Ok(()) => sound.push((path, bytes)),
                    Err(why) => compacted.damaged.push((path.clone(), why.to_string())),
                },
                Err(error) => compacted.damaged.push((path.clone(), error.to_string())),
            }
        }
        let [(first, _), _, ..] = &sound[..] else {
            return Ok(());
        };
        let files: Result<Vec<_>, _> = sound
            .iter()
            .map(|(_, bytes)| UnitFile::open(bytes, None))
            .collect();
        // Units that cannot be merged (too long, too far from each other) stay.
        let merged = files.and_then(|files| {
            let weights = profile.weights(&files);
            let explored = files
                .last()
                .is_some_and(|last| last.unit().geometry().explored);
            let merged = merge_as(&files, explored, |nth, n| weights[nth][n as usize])?;
            Ok((files, merged))
        });
        let Ok((files, merged)) = merged else {
            return Ok(());
        };
        let used = fs::metadata(self.path().join(first.dir())).and_then(|meta| meta.modified());
        let new = self.publish_unit(first, &merged.bytes)?;
        profile.note(&files, &merged, &new.name);
        compacted.images += 1;
        compacted.duplicates += u64::from(merged.duplicates) + u64::from(merged.conflicts);
        for (path, _) in sound.iter().filter(|(path, _)| **path != new) {
            self.discard(path)?;
            compacted.units += 1;
        }
        if let Ok(used) = used {
            keep_use(&self.path().join(first.dir()), used);
        }
        Ok(())
    }

    /// Publishes a unit beside `like`, with its sequence; its path.
    pub(crate) fn publish_unit(&self, like: &UnitPath, bytes: &[u8]) -> Result<UnitPath, Error> {
        let head = Head::verify(bytes, bytes.len() as u64);
        let head = head.map_err(|why| Error::Unit {
            path: like.relative(),
            why,
        })?;
        // The same contents get the same name: publishing twice changes nothing.
        let name = UnitName {
            seq: like.name.seq,
            tag: head.checksum,
        };
        let path = UnitPath {
            name,
            ..like.clone()
        };
        let dir = self.path().join(path.dir());
        let full = self.path().join(path.relative());
        self.files.make_dir(&dir).context("create", &dir)?;
        trust::check_dirs(self.path(), &path.dir())?;
        publish(&*self.files, &full, bytes).context("write", &full)?;
        Ok(path)
    }
}

/// Merging is no use: the folder's time stays what it was.
pub(crate) fn keep_use(dir: &Path, used: SystemTime) {
    let _ = File::open(dir).and_then(|dir| dir.set_modified(used));
}
