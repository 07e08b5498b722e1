//! A unit with all that explains it: its image's bytes and symbols, if they are
//! still there.

use super::elf::Elf;
use crate::mapped::Bytes;
use crate::source;
use ppin_persist::{Reject, UnitFile, UnitSummary, code_at};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A sound unit.
pub struct Unit {
    /// The file, relative to the database if it lies there.
    pub path: PathBuf,
    bytes: Bytes,
    /// The image's contents, or why they cannot be had.
    pub image: Result<Bytes, String>,
    /// Its addresses and symbols.
    pub elf: Elf,
}

impl Unit {
    /// Opens it; all of it is verified.
    ///
    /// # Errors
    /// The unit is damaged.
    pub fn new(path: PathBuf, bytes: Bytes) -> Result<Self, Reject> {
        let file = UnitFile::open(&bytes, None)?;
        file.verify_all()?;
        let name = Path::new(OsStr::from_bytes(file.unit().image_path()));
        let image = source::image(name, &file.unit().key().image);
        let elf = image
            .as_ref()
            .map_or_else(|_| Elf::default(), |bytes| Elf::read(bytes));
        Ok(Self {
            path,
            bytes,
            image,
            elf,
        })
    }

    /// Its tables and code.
    ///
    /// # Panics
    /// Never: it was opened before.
    pub fn file(&self) -> UnitFile<'_> {
        UnitFile::open(&self.bytes, None).expect("verified when it was read")
    }

    /// Path of its image.
    pub fn image_path(&self) -> String {
        String::from_utf8_lossy(self.file().unit().image_path()).into_owned()
    }

    /// The tools that it was made for.
    pub fn tool(&self) -> String {
        ppin_offline::Label::parse(self.file().unit().label()).summary()
    }

    /// Its file name.
    pub fn name(&self) -> String {
        self.path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// Sizes; of code without what fills up its pages.
    pub fn summary(&self) -> UnitSummary {
        let file = self.file();
        let tables = file.unit();
        let infos = (0..tables.fragments()).filter_map(|number| tables.info(number).ok());
        let (hot, cold) = infos.fold((0, 0), |(hot, cold), info| {
            (hot + info.hot.len() as u64, cold + info.cold.len() as u64)
        });
        UnitSummary {
            hot,
            cold,
            ..file.summary().unwrap_or_default()
        }
    }

    /// The image's bytes behind an image offset.
    pub fn source(&self, head: i32, len: u32) -> Result<&[u8], &str> {
        let image = self.image.as_ref().map_err(String::as_str)?;
        let bytes = code_at(image, self.elf.segments(), head, len);
        bytes.ok_or("beyond the end of the file")
    }
}
