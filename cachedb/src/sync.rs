//! Making what was done last through a power failure.
//!
//! Runs never wait for the disk; verbs that are asked to put something into the database do
//! at their end.

use crate::error::{Context, Error};
use crate::open::Database;
use crate::trust;
use ppin_persist::paths::UNITS;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

impl Database {
    /// Writes everything to the disk that has changed since then.
    ///
    /// # Errors
    /// The system's.
    pub fn sync(&self, since: SystemTime) -> Result<(), Error> {
        let since = since.duration_since(UNIX_EPOCH);
        let since = since.map_or(0, |since| since.as_secs() as i64);
        let scan = self.scan()?;
        let units = scan
            .units
            .iter()
            .map(|unit| self.path().join(unit.relative()));
        for path in units {
            match trust::open_file(&path) {
                Ok((file, meta)) if meta.ctime() >= since => synced(&file, &path)?,
                Err(error) if !error.is_gone() && !matches!(error, Error::Refused { .. }) => {
                    return Err(error);
                }
                _ => {}
            }
        }
        // Folders after what lies in them.
        for path in self.folders(scan.image_dirs) {
            let Ok(dir) = File::open(&path) else {
                continue;
            };
            if dir.metadata().context("look at", &path)?.ctime() >= since {
                synced(&dir, &path)?;
            }
        }
        Ok(())
    }

    /// All folders from those of images up to the one that the database lies in.
    fn folders(&self, images: Vec<PathBuf>) -> Vec<PathBuf> {
        let mut keys: Vec<PathBuf> = images
            .iter()
            .filter_map(|dir| dir.parent().map(Path::to_owned))
            .collect();
        keys.dedup();
        let above = [Some(self.path()), self.path().parent()];
        let mut all = images;
        all.extend(keys);
        all.push(self.path().join(UNITS));
        all.extend(above.into_iter().flatten().map(Path::to_owned));
        all
    }
}

fn synced(file: &File, path: &Path) -> Result<(), Error> {
    match file.sync_all() {
        // A file system that has no such thing.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other.context("write to the disk", path),
    }
}
