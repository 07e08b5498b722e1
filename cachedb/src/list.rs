//! Listing and reading the units of a database.

use crate::catalog::Catalog;
use crate::entry::{ImageEntry, UnitEntry, read_facts, state_of};
use crate::error::{Context, Error};
use crate::open::Database;
use crate::scan::UnitPath;
use crate::trust;
use ppin_persist::Reject;
use ppin_persist::paths::CATALOG;
use ppin_persist::start::FileState;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes that a unit can have.
const LONGEST: u64 = i32::MAX as u64;

impl Database {
    /// All units, by key and image. What is not readable is listed with its reason;
    /// what vanishes meanwhile is left out.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub fn list(&self) -> Result<Vec<ImageEntry>, Error> {
        let scan = self.scan()?;
        let catalog = self.catalog();
        let mut images: Vec<ImageEntry> = Vec::new();
        for path in &scan.units {
            let Some(unit) = self.entry(path, catalog.as_ref()) else {
                continue;
            };
            match images.last_mut() {
                Some(last) if (last.key_dir, last.image) == (path.key_dir, path.image) => {
                    last.units.push(unit);
                }
                _ => images.push(ImageEntry {
                    key_dir: path.key_dir,
                    image: path.image,
                    path: None,
                    label: String::new(),
                    used: folder_time(&self.path().join(path.dir())),
                    units: vec![unit],
                }),
            }
        }
        images.iter_mut().for_each(describe);
        if let Some(catalog) = catalog {
            catalog.keep_only(&scan.units);
            catalog.close();
        }
        Ok(images)
    }

    fn entry(&self, path: &UnitPath, catalog: Option<&Catalog>) -> Option<UnitEntry> {
        let full = self.path().join(path.relative());
        let (mut file, meta) = match trust::open_file(&full) {
            Ok(opened) => opened,
            Err(error) if error.is_gone() => return None,
            Err(error) => return Some(unreadable(path, error.to_string())),
        };
        let state = state_of(&meta);
        let known = catalog.and_then(|catalog| catalog.get(path, &state));
        let facts = known.map_or_else(|| read_facts(&mut file, path, &state), Ok);
        if let (Some(catalog), Ok(facts)) = (catalog, &facts) {
            catalog.put(path, &state, facts);
        }
        Some(UnitEntry {
            path: path.clone(),
            len: meta.len(),
            last_use: meta.atime().max(meta.ctime()),
            facts,
        })
    }

    /// Reads a unit file whole. `None` if it is gone.
    ///
    /// # Errors
    /// It is not trusted, cannot be read, or is longer than a unit can be.
    pub fn read(&self, path: &UnitPath) -> Result<Option<Vec<u8>>, Error> {
        let read = self.read_with_state(path)?;
        Ok(read.map(|(bytes, _)| bytes))
    }

    pub(crate) fn read_with_state(
        &self,
        path: &UnitPath,
    ) -> Result<Option<(Vec<u8>, FileState)>, Error> {
        let Some((file, meta)) = self.open_file(path)? else {
            return Ok(None);
        };
        let mut bytes = Vec::with_capacity(meta.len() as usize);
        let read = file.take(LONGEST).read_to_end(&mut bytes);
        read.context("read", &self.path().join(path.relative()))?;
        Ok(Some((bytes, state_of(&meta))))
    }

    /// Opens a unit file for reading. `None` if it is gone.
    ///
    /// # Errors
    /// It is not trusted, cannot be read, or is longer than a unit can be.
    pub fn file(&self, path: &UnitPath) -> Result<Option<File>, Error> {
        Ok(self.open_file(path)?.map(|(file, _)| file))
    }

    fn open_file(&self, path: &UnitPath) -> Result<Option<(File, Metadata)>, Error> {
        let full = self.path().join(path.relative());
        match trust::open_file(&full) {
            Err(error) if error.is_gone() => Ok(None),
            Ok((_, meta)) if meta.len() > LONGEST => {
                let why = Reject::Impossible;
                Err(Error::Unit { path: full, why })
            }
            other => other.map(Some),
        }
    }

    /// Throws the catalog away; the next listing builds it from the files.
    ///
    /// # Errors
    /// Another process uses it, or it cannot be removed.
    pub fn rebuild_catalog(&self) -> Result<(), Error> {
        self.writable()?;
        Catalog::discard(&self.path().join(CATALOG))?;
        self.list().map(|_| ())
    }
}

/// When the image in the folder `dir` was last used, in seconds.
pub(crate) fn folder_time(dir: &Path) -> i64 {
    fs::symlink_metadata(dir).map_or(0, |meta| meta.mtime())
}

fn describe(image: &mut ImageEntry) {
    let mut facts = image
        .units
        .iter()
        .filter_map(|unit| unit.facts.as_ref().ok());
    if let Some(facts) = facts.next_back() {
        image.path = Some(facts.image_path.clone());
        image.label = facts.label.clone();
    }
}

fn unreadable(path: &UnitPath, why: String) -> UnitEntry {
    UnitEntry {
        path: path.clone(),
        len: 0,
        last_use: 0,
        facts: Err(why),
    }
}
