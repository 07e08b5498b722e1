//! Finds units and temporary files in the directories.

use crate::error::{Context, Error};
use crate::trust;
use ppin_persist::paths::{START, TEMPORARY, UNITS, UnitName, from_hex, to_hex};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where a unit lies: its path in parts.
#[derive(Clone, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub struct UnitPath {
    /// Engine and tool ([`ppin_persist::Key::directory`]).
    pub key_dir: [u8; 16],
    /// Identity of the image (`ppin_persist::identity`).
    pub image: [u8; 32],
    /// File name.
    pub name: UnitName,
}

impl UnitPath {
    /// Its directory, relative to the database.
    #[must_use]
    pub fn dir(&self) -> PathBuf {
        Path::new(UNITS)
            .join(to_hex(&self.key_dir))
            .join(to_hex(&self.image))
    }

    /// The path, relative to the database.
    #[must_use]
    pub fn relative(&self) -> PathBuf {
        self.dir().join(self.name.file_name())
    }
}

/// All that was found under `units`.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Units, sorted: those of one key and image together, in their order.
    pub units: Vec<UnitPath>,
    /// Start plans.
    pub plans: Vec<PathBuf>,
    /// Temporary files, perhaps of a writer at work.
    pub temporary: Vec<PathBuf>,
    /// Directories of images, also empty ones.
    pub image_dirs: Vec<PathBuf>,
    /// Directories that are not trusted.
    pub refused: Vec<Error>,
}

/// Finds the units of the database at `root`.
pub(crate) fn scan(root: &Path) -> Result<Scan, Error> {
    let mut scan = Scan::default();
    let units = root.join(UNITS);
    if fs::symlink_metadata(&units).is_err() || !scan.trusts(&units) {
        return Ok(scan);
    }
    for (path, name) in children(&units)? {
        if let Some(key_dir) = from_hex(name.as_bytes())
            && scan.trusts(&path)
        {
            scan_key(&mut scan, key_dir, &path)?;
        }
    }
    scan.units.sort_unstable();
    scan.image_dirs.sort_unstable();
    Ok(scan)
}

impl Scan {
    fn trusts(&mut self, path: &Path) -> bool {
        let verdict = trust::check_dir(path);
        let trusted = verdict.is_ok();
        self.refused.extend(verdict.err());
        trusted
    }
}

fn scan_key(scan: &mut Scan, key_dir: [u8; 16], path: &Path) -> Result<(), Error> {
    for (path, name) in children(path)? {
        let Some(image) = from_hex(name.as_bytes()) else {
            continue;
        };
        if !scan.trusts(&path) {
            continue;
        }
        for (path, name) in children(&path)? {
            if let Some(name) = UnitName::parse(name.as_bytes()) {
                scan.units.push(UnitPath {
                    key_dir,
                    image,
                    name,
                });
            } else if name.as_bytes() == START.as_bytes() {
                scan.plans.push(path);
            } else if name.as_bytes().starts_with(TEMPORARY.as_bytes()) {
                scan.temporary.push(path);
            }
        }
        scan.image_dirs.push(path);
    }
    Ok(())
}

/// Paths and names in a directory; none if there is no directory.
pub(crate) fn children(dir: &Path) -> Result<Vec<(PathBuf, std::ffi::OsString)>, Error> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.context("list", dir)?,
    };
    let named = |entry: fs::DirEntry| (entry.path(), entry.file_name());
    let listed: io::Result<Vec<_>> = entries.map(|entry| entry.map(named)).collect();
    listed.context("list", dir)
}

/// A path from its bytes.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
