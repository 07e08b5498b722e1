//! Exchange files: many units in one file, to carry a warm database elsewhere.
//!
//! ```text
//! "ppinpack", version u32, zero u32
//! for each unit:  length u64 (not 0), sequence u32, zero u32, the bytes of the unit
//! at the end:     0 u64, number of units u32, zero u32
//! ```
//! Little-endian. Where a unit goes is said by the unit itself, which is verified
//! completely; nothing in the file names a path.

use crate::entry::ImageEntry;
use crate::error::{Context, Error};
use crate::open::Database;
use crate::remove::Selection;
use crate::scan::UnitPath;
use ppin_persist::paths::{GROWTH, UnitName};
use ppin_persist::{Key, Reject, UnitFile};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const MAGIC: [u8; 8] = *b"ppinpack";
const VERSION: u32 = 1;
const MAX_UNIT: u64 = i32::MAX as u64;

/// Outcome of an export.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Exported {
    /// Units written.
    pub units: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Damaged units left out.
    pub damaged: u64,
}

/// Outcome of an import.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Imported {
    /// Units added.
    pub units: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Units that were there already.
    pub known: u64,
    /// Units left out: position in the file, and why.
    pub damaged: Vec<(u64, Reject)>,
}

impl Database {
    /// Writes the selected units to `out`. Damaged ones are left out.
    ///
    /// # Errors
    /// A unit cannot be read, or `out` fails.
    pub fn export(&self, selection: &Selection, out: &mut dyn Write) -> Result<Exported, Error> {
        let written = |result: io::Result<()>| result.context("write", Path::new("export"));
        let mut exported = Exported::default();
        written(out.write_all(&header()))?;
        let images = self.list()?;
        let chosen = images.iter().filter(|image| selection.includes(image));
        for unit in chosen.flat_map(|image: &ImageEntry| &image.units) {
            let Some(bytes) = self.read(&unit.path)? else {
                continue;
            };
            let verdict = crate::entry::open_unit(&unit.path, &bytes);
            if verdict.and_then(|unit| unit.verify_all()).is_err() {
                exported.damaged += 1;
                continue;
            }
            written(out.write_all(&entry_header(bytes.len() as u64, unit.path.name.seq)))?;
            written(out.write_all(&bytes))?;
            exported.units += 1;
            exported.bytes += bytes.len() as u64;
        }
        written(out.write_all(&entry_header(0, exported.units as u32)))?;
        written(out.flush())?;
        Ok(exported)
    }

    /// Adds the units that `input` holds. Each is verified completely and goes where
    /// it says that it belongs; what is already there is not written again.
    ///
    /// # Errors
    /// `input` is no exchange file or is cut (all before the cut is kept), or the
    /// system refuses.
    pub fn import(&self, input: &mut dyn Read) -> Result<Imported, Error> {
        self.writable()?;
        let start = SystemTime::now();
        let imported = self.import_units(input);
        self.sync(start)?;
        imported
    }

    fn import_units(&self, input: &mut dyn Read) -> Result<Imported, Error> {
        let mut imported = Imported::default();
        let mut known = self.known_units()?;
        // The next run counts what is there.
        self.remove_path(&self.path().join(GROWTH))?;
        let start: [u8; 16] = read_array(input)?;
        if start != header() {
            return Err(Error::Pack("is not one, or of another version"));
        }
        for position in 0.. {
            let (len, number) = split_header(read_array(input)?);
            if len == 0 {
                let complete = u64::from(number) == position;
                return complete
                    .then_some(imported)
                    .ok_or(Error::Pack("has lost units"));
            }
            let bytes = read_unit(input, len)?;
            match check(&bytes) {
                Err(why) => imported.damaged.push((position, why)),
                Ok((key, checksum)) => {
                    let there = known.entry((key, checksum)).or_insert(false);
                    if *there {
                        imported.known += 1;
                        continue;
                    }
                    *there = true;
                    self.publish_unit(&home(&key, number), &bytes)?;
                    imported.units += 1;
                    imported.bytes += len;
                }
            }
        }
        Ok(imported)
    }

    /// Keys and checksums of the units that are there.
    fn known_units(&self) -> Result<HashMap<(Key, u64), bool>, Error> {
        let images = self.list()?;
        let facts = images
            .iter()
            .flat_map(|image| &image.units)
            .filter_map(|unit| unit.facts.as_ref().ok());
        Ok(facts
            .map(|facts| ((facts.key, facts.checksum), true))
            .collect())
    }
}

fn home(key: &Key, seq: u32) -> UnitPath {
    UnitPath {
        key_dir: key.directory(),
        image: key.image,
        name: UnitName { seq, tag: 0 },
    }
}

fn check(bytes: &[u8]) -> Result<(Key, u64), Reject> {
    let unit = UnitFile::open(bytes, None)?;
    unit.verify_all()?;
    Ok((unit.unit().key(), unit.unit().checksum()))
}

fn header() -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

fn entry_header(len: u64, number: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&len.to_le_bytes());
    bytes[8..12].copy_from_slice(&number.to_le_bytes());
    bytes
}

fn split_header(bytes: [u8; 16]) -> (u64, u32) {
    let whole = u128::from_le_bytes(bytes);
    (whole as u64, (whole >> 64) as u32)
}

fn read_array<const N: usize>(input: &mut dyn Read) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    match input.read_exact(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Error::Pack("is cut")),
        other => other
            .context("read", &PathBuf::from("import"))
            .map(|()| bytes),
    }
}

/// Memory grows with what is there, not with what the file claims.
fn read_unit(input: &mut dyn Read, len: u64) -> Result<Vec<u8>, Error> {
    if len > MAX_UNIT {
        return Err(Error::Pack("claims a unit longer than any can be"));
    }
    let mut bytes = Vec::new();
    let read = input.take(len).read_to_end(&mut bytes);
    let read = read.context("read", &PathBuf::from("import"))?;
    if read as u64 != len {
        return Err(Error::Pack("is cut"));
    }
    Ok(bytes)
}
