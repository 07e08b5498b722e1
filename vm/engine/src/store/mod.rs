//! Folders and files of the databases, as far as they may be trusted.
//!
//! The rule is `ppin_persist::trust`'s: ours or root's, nobody else may write, no symbolic
//! link from the database down, and nothing but directories and regular files. The folders
//! that lead to units are judged once in a run, from the top down; the folder of an image's
//! units and every file are judged by what was opened. What is refused is said once in the
//! statistics. No descriptor outlives the work that it was opened for.

pub mod cap;
mod folder;

pub use folder::Folder;

use crate::sys::file::{self, Stat};
use crate::sys::{Errno, c, time};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use ppin_persist::evict::is_due;
use ppin_persist::trust::{Kind, Refusal, judge};

/// Why a folder or file is not used.
#[derive(Debug)]
pub enum Fault {
    /// There is none.
    Missing,
    /// It must not be trusted.
    Refused(Refusal),
    /// The kernel's answer.
    System(Errno),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("it is not there"),
            Self::Refused(why) => write!(f, "not trusted: {why}"),
            Self::System(e) => write!(f, "cannot be opened ({e})"),
        }
    }
}

impl From<Errno> for Fault {
    fn from(e: Errno) -> Self {
        const ENOENT: i32 = 2;
        const ENXIO: i32 = 6;
        const ENOTDIR: i32 = 20;
        const ELOOP: i32 = 40;
        match e.0 {
            ENOENT => Self::Missing,
            ENXIO => Self::Refused(Refusal::NotAFile),
            ENOTDIR => Self::Refused(Refusal::NotADirectory),
            ELOOP => Self::Refused(Refusal::Symlink),
            _ => Self::System(e),
        }
    }
}

/// What this run has found out about folders.
#[derive(Debug, Default)]
pub struct Store {
    /// Effective user when the first folder was judged.
    user: Option<u32>,
    /// Folders that are there, and whether they are trusted.
    judged: Vec<(String, bool)>,
    /// What was refused and has not been said yet.
    refused: Vec<String>,
    /// Bytes of units written and not counted yet.
    written: u64,
    /// A folder of units was begun.
    began: bool,
    /// The time when it was first asked for, in seconds.
    now: Option<i64>,
}

impl Store {
    /// The folder `relative` of database `db`, open; `None` if it is not there or must not
    /// be used.
    pub fn folder(&mut self, db: &str, relative: &str) -> Option<Folder> {
        let above = relative.rsplit_once('/').map_or("", |(above, _)| above);
        let path = format!("{db}/{relative}");
        if !self.leads(db, above) || self.known(&path) == Some(false) {
            return None;
        }
        let user = self.user();
        match Folder::open(&path, user) {
            Ok(folder) => Some(folder),
            Err(fault) => {
                self.refuse(&path, &fault);
                None
            }
        }
    }

    /// The same; what is missing is made.
    ///
    /// # Errors
    /// What cannot be made or must not be used, and why, in one sentence.
    pub fn make_folder(&mut self, db: &str, relative: &str) -> Result<Folder, String> {
        for step in steps(db, relative) {
            // The database itself is there, or is not ours to make.
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

    /// What was refused since this was last asked, in words.
    pub fn refusals(&mut self) -> Vec<String> {
        core::mem::take(&mut self.refused)
    }

    /// So many bytes of units were written.
    pub fn wrote(&mut self, len: usize) {
        self.written += len as u64;
    }

    /// Notes that what lies in `folder` is used, at most once a day.
    pub fn note_use(&mut self, folder: &Folder) {
        let now = *self.now.get_or_insert_with(|| time::real().0);
        if is_due(folder.stat().mtime.0, now) {
            folder.touch();
        }
    }

    /// Whether all folders from `db` down to `relative` are there and trusted.
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

    /// What is missing may still come; the rest is said, and not tried again.
    fn refuse(&mut self, path: &str, fault: &Fault) {
        if matches!(fault, Fault::Missing) {
            return;
        }
        self.judged.push((path.into(), false));
        self.refused.push(format!("{path}: {fault}"));
    }

    fn user(&mut self) -> u32 {
        *self
            .user
            .get_or_insert_with(crate::sys::proc::effective_user)
    }
}

impl crate::vm::Vm {
    /// Says in the statistics and the log what was refused.
    pub fn note_refusals(&mut self) {
        for reason in self.store.refusals() {
            self.log(format_args!("{reason}"));
            self.stats.note(reason);
        }
    }
}

/// Tells writers of one sequence number apart.
#[must_use]
pub fn tag() -> u64 {
    let clock = time::monotonic_ns();
    clock.rotate_left(24) ^ (crate::sys::proc::pid() as u64) << 32
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

fn judged(kind: Kind, stat: &Stat, user: u32) -> Result<(), Fault> {
    judge(kind, stat.mode, stat.uid, user).map_err(Fault::Refused)
}

/// Opens a file for reading and judges what was opened. Pipes and devices are not waited
/// for.
fn open_file(dir: i32, path: &str, user: u32) -> Result<(file::File, Stat), Fault> {
    let flags = c::O_RDONLY | c::O_NOFOLLOW | c::O_NONBLOCK | c::O_NOCTTY;
    let file = file::File::open_at(dir, &file::c_path(path), flags)?;
    let stat = file.stat()?;
    judged(Kind::File, &stat, user)?;
    Ok((file, stat))
}

#[cfg(test)]
mod tests {
    use super::*;

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
