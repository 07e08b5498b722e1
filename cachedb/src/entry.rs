//! A unit and its image as listings show them, and how a unit's head is read.

use crate::scan::{UnitPath, path_of};
use ppin_persist::start::FileState;
use ppin_persist::{HEADER_LEN, Head, Key, Reject, UnitFile};
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// All units of one image under one engine and tool.
#[derive(Clone, Debug)]
pub struct ImageEntry {
    /// Engine and tool.
    pub key_dir: [u8; 16],
    /// Identity of the image (`ppin_persist::identity`).
    pub image: [u8; 32],
    /// Path of the image as its latest readable unit records it.
    pub path: Option<PathBuf>,
    /// Tool and knobs as recorded.
    pub label: String,
    /// When it was last used, in seconds (see `ppin_persist::evict`).
    pub used: i64,
    /// Its units, in order.
    pub units: Vec<UnitEntry>,
}

impl ImageEntry {
    /// Bytes of all its units.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.units.iter().map(|unit| unit.len).sum()
    }

    /// Fragments in all its units; duplicates count each time.
    #[must_use]
    pub fn fragments(&self) -> u64 {
        self.units
            .iter()
            .filter_map(|unit| unit.facts.as_ref().ok())
            .map(|facts| u64::from(facts.fragments))
            .sum()
    }

    /// When it was last used, in seconds.
    #[must_use]
    pub fn last_use(&self) -> i64 {
        self.used
    }
}

/// A unit file.
#[derive(Clone, Debug)]
pub struct UnitEntry {
    /// Where it lies.
    pub path: UnitPath,
    /// Its length.
    pub len: u64,
    /// When it was last read or made, in seconds, as exactly as the file system says.
    pub last_use: i64,
    /// Facts from its head, or why it is not used.
    pub facts: Result<UnitFacts, String>,
}

/// Facts from the head of a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitFacts {
    /// Engine, tool and image of which it holds the code.
    pub key: Key,
    /// Number of fragments.
    pub fragments: u32,
    /// Path of the image.
    pub image_path: PathBuf,
    /// Tool and knobs.
    pub label: String,
    /// Checksum of its head.
    pub checksum: u64,
    /// Whether it was verified completely since it was last touched.
    pub sound: bool,
}

/// State of the file with these metadata.
pub(crate) fn state_of(meta: &Metadata) -> FileState {
    FileState {
        len: meta.len(),
        ino: meta.ino(),
        mtime: (meta.mtime(), meta.mtime_nsec() as u32),
        ctime: (meta.ctime(), meta.ctime_nsec() as u32),
    }
}

/// Whether a unit with this key belongs at this path.
pub(crate) fn lies_where_it_belongs(key: &Key, path: &UnitPath) -> bool {
    key.image == path.image && key.directory() == path.key_dir
}

/// Opens the bytes of the unit at `path`.
pub(crate) fn open_unit<'a>(path: &UnitPath, bytes: &'a [u8]) -> Result<UnitFile<'a>, Reject> {
    let file = UnitFile::open(bytes, None)?;
    let found = file.unit().key();
    if found.image != path.image {
        return Err(Reject::Key(ppin_persist::KeyPart::Image));
    }
    if !lies_where_it_belongs(&found, path) {
        return Err(Reject::Key(ppin_persist::KeyPart::Engine));
    }
    Ok(file)
}

/// Reads the facts from an open file.
pub(crate) fn read_facts(
    file: &mut File,
    path: &UnitPath,
    state: &FileState,
) -> Result<UnitFacts, String> {
    let bytes = read_head(file, state).map_err(|error| error.to_string())?;
    facts(&bytes, path, state)
}

/// Reads the facts from the first bytes of a file.
pub(crate) fn facts(bytes: &[u8], path: &UnitPath, state: &FileState) -> Result<UnitFacts, String> {
    let head = Head::verify(bytes, state.len).map_err(|why| why.to_string())?;
    if !lies_where_it_belongs(&head.geometry.key, path) {
        return Err("it lies in the wrong directory".to_owned());
    }
    Ok(UnitFacts {
        key: head.geometry.key,
        fragments: head.geometry.fragments,
        image_path: path_of(head.image_path),
        label: String::from_utf8_lossy(head.label).into_owned(),
        checksum: head.checksum,
        sound: false,
    })
}

/// The head of a file, or what there is of it.
fn read_head(file: &mut File, state: &FileState) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(HEADER_LEN as u64).read_to_end(&mut bytes)?;
    if let Ok(geometry) = ppin_persist::Geometry::peek(&bytes, state.len) {
        let rest = geometry.head_len.saturating_sub(HEADER_LEN as u64);
        file.take(rest).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
