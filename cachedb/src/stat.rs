//! The database in numbers.

use crate::error::Error;
use crate::open::Database;
use std::collections::BTreeSet;

/// Sums over the database.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Combinations of engine and tool.
    pub keys: u64,
    /// Different images.
    pub images: u64,
    /// Unit files.
    pub units: u64,
    /// Units that cannot be read.
    pub unreadable: u64,
    /// Fragments in all units; duplicates count each time.
    pub fragments: u64,
    /// Bytes of all units.
    pub bytes: u64,
    /// Temporary files, of writers at work or dead.
    pub temporary: u64,
    /// Directories that are not trusted.
    pub refused: u64,
}

impl Database {
    /// See [`Totals`].
    ///
    /// # Errors
    /// A directory cannot be read.
    pub fn stat(&self) -> Result<Totals, Error> {
        let scan = self.scan()?;
        let list = self.list()?;
        let count_distinct = |keys: BTreeSet<&[u8]>| keys.len() as u64;
        let mut totals = Totals {
            keys: count_distinct(list.iter().map(|image| &image.key_dir[..]).collect()),
            images: count_distinct(list.iter().map(|image| &image.image[..]).collect()),
            temporary: scan.temporary.len() as u64,
            refused: scan.refused.len() as u64,
            ..Totals::default()
        };
        for image in &list {
            totals.units += image.units.len() as u64;
            totals.bytes += image.bytes();
            totals.fragments += image.fragments();
            for unit in &image.units {
                totals.unreadable += u64::from(unit.facts.is_err());
            }
        }
        Ok(totals)
    }
}
