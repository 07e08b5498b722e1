//! Units that are made anew: each is replaced by what somebody makes of it.
//!
//! As with a compaction, the new unit is there, whole and synced, before the old one goes.

use crate::compact::keep_use;
use crate::entry::open_unit;
use crate::error::Error;
use crate::list::folder_time;
use crate::open::Database;
use crate::profile::Profile;
use crate::scan::UnitPath;
use ppin_persist::{Merged, UnitFile};
use std::fs;

impl Database {
    /// Replaces units of images that were used at `since` (in seconds) or later by what `make` makes of them, if it
    /// makes something of them: the same traces in their order, made otherwise, and perhaps others behind them. How
    /// many were replaced. Those that are damaged are left alone.
    ///
    /// # Errors
    /// Another process is at it, or the system refuses.
    pub fn rewrite_since(
        &self,
        since: i64,
        mut make: impl FnMut(&UnitFile<'_>) -> Option<Vec<u8>>,
    ) -> Result<u64, Error> {
        let _lock = self.tidy_lock()?;
        let scan = self.scan()?;
        let mut profile = Profile::read(&scan.plans);
        let mut replaced = 0;
        for path in &scan.units {
            if folder_time(&self.path().join(path.dir())) >= since {
                replaced += u64::from(self.rewrite(path, &mut make, &mut profile)?);
            }
        }
        profile.write(&*self.files)?;
        Ok(replaced)
    }

    fn rewrite(
        &self,
        path: &UnitPath,
        make: &mut impl FnMut(&UnitFile<'_>) -> Option<Vec<u8>>,
        profile: &mut Profile,
    ) -> Result<bool, Error> {
        let Ok(Some(old)) = self.read(path) else {
            return Ok(false);
        };
        let sound = open_unit(path, &old).and_then(|unit| unit.verify_all());
        let Some(file) = sound.and_then(|()| UnitFile::open(&old, None)).ok() else {
            return Ok(false);
        };
        let Some(bytes) = make(&file) else {
            return Ok(false);
        };
        let used = fs::metadata(self.path().join(path.dir())).and_then(|meta| meta.modified());
        let new = self.publish_unit(path, &bytes)?;
        let places = vec![(0..file.unit().fragments()).collect()];
        let made = Merged {
            bytes,
            duplicates: 0,
            conflicts: 0,
            places,
        };
        profile.note(&[file], &made, &new.name);
        if new != *path {
            self.discard(path)?;
        }
        if let Ok(used) = used {
            keep_use(&self.path().join(path.dir()), used);
        }
        Ok(true)
    }
}
