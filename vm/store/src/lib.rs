//! Access to the folders and files of the databases that may be trusted.
//!
//! The rule is `ppin_persist::trust`'s: owned by the user or by root, writable by no other user, no
//! symbolic link from the database down, and only directories and regular files. The folders that
//! lead to units are judged once in a run, from the top down; the folder of an image's units is judged each time
//! when it is used, and when it is opened, and every file when it is open. A refusal is reported once in the
//! statistics. Each descriptor is closed when its work is done.

#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod cap;
mod fault;
mod folder;
pub mod identity;
mod trusted;

pub use fault::Fault;

pub use folder::Folder;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ppin_os::{file, time};
use ppin_persist::evict::is_due;
use ppin_persist::trust::Kind;
use trusted::judged;
pub use trusted::tag;

/// Verdicts of this run about folders, and counts of what it has written.
#[derive(Debug, Default)]
pub struct Store {
    /// Effective user when the first folder was judged.
    user: Option<u32>,
    /// Folders that exist, and whether they are trusted.
    judged: Vec<(String, bool)>,
    /// Refusals that are not yet reported.
    refused: Vec<String>,
    /// Bytes of units written and not counted yet.
    written: u64,
    /// Whether this run has created a folder of units.
    began: bool,
    /// The time when it was first asked for, in seconds.
    now: Option<i64>,
}

impl Store {
    /// The folder `relative` of database `db`; `None` if it is missing or must not be used.
    pub fn folder(&mut self, db: &str, relative: &str) -> Option<Folder> {
        let above = relative.rsplit_once('/').map_or("", |(above, _)| above);
        let path = format!("{db}/{relative}");
        if !self.leads(db, above) || self.known(&path) == Some(false) {
            return None;
        }
        let user = self.user();
        match Folder::find(&path, user) {
            Ok(folder) => Some(folder),
            Err(fault) => {
                self.refuse(&path, &fault);
                None
            }
        }
    }

    /// Opens the folder `relative` of database `db`, and creates folders that are missing.
    ///
    /// # Errors
    /// What cannot be created or must not be used, and why, in one sentence.
    pub fn make_folder(&mut self, db: &str, relative: &str) -> Result<Folder, String> {
        for step in steps(db, relative) {
            // (The database's own folder is never created here.)
            if step != db {
                let made = file::make_dir(&step);
                self.began |= made.map_err(|e| format!("cannot make the folder {step} ({e})"))?;
            }
            if !self.trusts(&step) {
                return Err(format!("{step} cannot be used"));
            }
        }
        let path = format!("{db}/{relative}");
        let user = self.user();
        Folder::open(&path, user).map_err(|fault| format!("{path}: {fault}"))
    }

    /// Messages about refusals since the last call.
    pub fn refusals(&mut self) -> Vec<String> {
        core::mem::take(&mut self.refused)
    }

    /// Notes that `len` bytes of units were written.
    pub fn wrote(&mut self, len: usize) {
        self.written += len as u64;
    }

    /// Whether units were written that have not been counted yet.
    #[must_use]
    pub fn has_written(&self) -> bool {
        self.written != 0
    }

    /// Notes that the units in `folder` are used, at most once a day.
    pub fn note_use(&mut self, folder: &Folder) {
        let now = *self.now.get_or_insert_with(|| time::real().0);
        if is_due(folder.stat().mtime.0, now) {
            folder.touch();
        }
    }

    /// Whether all folders from `db` down to `relative` exist and are trusted.
    fn leads(&mut self, db: &str, relative: &str) -> bool {
        steps(db, relative).iter().all(|step| self.trusts(step))
    }

    fn trusts(&mut self, path: &str) -> bool {
        if let Some(verdict) = self.known(path) {
            return verdict;
        }
        let user = self.user();
        let verdict = file::stat_of(path)
            .map_err(Fault::from)
            .and_then(|stat| judged(Kind::Folder, &stat, user));
        match verdict {
            Ok(()) => self.judged.push((path.into(), true)),
            Err(fault) => self.refuse(path, &fault),
        }
        self.known(path) == Some(true)
    }

    fn known(&self, path: &str) -> Option<bool> {
        let of_path = |(known, _): &&(String, bool)| known == path;
        self.judged
            .iter()
            .find(of_path)
            .map(|(_, verdict)| *verdict)
    }

    /// Notes a refusal. A missing folder may still be created; other faults are reported, and the
    /// path is not tried again.
    fn refuse(&mut self, path: &str, fault: &Fault) {
        if matches!(fault, Fault::Missing) {
            return;
        }
        self.judged.push((path.into(), false));
        self.refused.push(format!("{path}: {fault}"));
    }

    fn user(&mut self) -> u32 {
        *self.user.get_or_insert_with(ppin_os::proc::effective_user)
    }
}

/// The database, and the folders from there down to `relative`.
fn steps(db: &str, relative: &str) -> Vec<String> {
    let mut steps = alloc::vec![String::from(db)];
    for part in relative.split('/').filter(|part| !part.is_empty()) {
        let above = &steps[steps.len() - 1];
        steps.push(format!("{above}/{part}"));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppin_persist::trust::Refusal;

    #[test]
    fn every_folder_from_the_database_down_is_a_step() {
        assert_eq!(steps("/a/db", ""), ["/a/db"]);
        let down = ["/a/db", "/a/db/units", "/a/db/units/key"];
        assert_eq!(steps("/a/db", "units/key"), down);
    }

    #[test]
    fn what_is_missing_may_still_come() {
        let mut store = Store::default();
        store.refuse("/db", &Fault::Missing);
        assert_eq!(store.known("/db"), None);
        store.refuse("/db", &Fault::Refused(Refusal::Owner(7)));
        assert_eq!(store.known("/db"), Some(false));
        assert_eq!(store.refusals(), ["/db: not trusted: it belongs to user 7"]);
        assert!(store.refusals().is_empty());
    }
}
