//! Removing units.

use crate::entry::ImageEntry;
use crate::error::{Context, Error};
use crate::open::Database;
use crate::scan::UnitPath;
use ppin_persist::paths::{START, to_hex};
use std::path::{Path, PathBuf};

/// Which units.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Selection {
    /// All.
    All,
    /// Units of images whose identity begins with these hexadecimal digits.
    Image(String),
    /// Units of images recorded under this path.
    Path(PathBuf),
    /// Units under engines and tools whose directory begins with these digits.
    Key(String),
}

impl Selection {
    /// Whether the selection includes this image's units.
    #[must_use]
    pub fn includes(&self, image: &ImageEntry) -> bool {
        let begins =
            |bytes: &[u8], digits: &str| to_hex(bytes).starts_with(&digits.to_ascii_lowercase());
        match self {
            Self::All => true,
            Self::Image(digits) => begins(&image.image, digits),
            Self::Path(path) => image.path.as_ref() == Some(path),
            Self::Key(digits) => begins(&image.key_dir, digits),
        }
    }
}

/// Outcome of a removal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Removed {
    /// Units.
    pub units: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Database {
    /// Removes the selected units. Programs that have them mapped keep them.
    ///
    /// # Errors
    /// A directory cannot be read, or a file cannot be removed.
    pub fn remove(&self, selection: &Selection) -> Result<Removed, Error> {
        self.writable()?;
        let mut removed = Removed::default();
        for image in self.list()? {
            if selection.includes(&image) {
                self.remove_image(&image, &mut removed)?;
            }
        }
        Ok(removed)
    }

    pub(crate) fn remove_image(
        &self,
        image: &ImageEntry,
        removed: &mut Removed,
    ) -> Result<(), Error> {
        for unit in &image.units {
            self.discard(&unit.path)?;
            removed.units += 1;
            removed.bytes += unit.len;
        }
        let dir = image.units.first().map(|unit| unit.path.dir());
        dir.map_or(Ok(()), |dir| {
            self.remove_path(&self.path().join(dir).join(START))
        })
    }

    /// Removes one unit, whatever it contains.
    ///
    /// # Errors
    /// The system's; that it is gone is fine.
    pub fn discard(&self, path: &UnitPath) -> Result<(), Error> {
        self.writable()?;
        self.remove_path(&self.path().join(path.relative()))
    }

    pub(crate) fn remove_path(&self, path: &Path) -> Result<(), Error> {
        self.files.remove(path).context("remove", path)
    }
}
