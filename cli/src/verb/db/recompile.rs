//! `ppin db verify --recompile`: is the code that is kept the code that this ppin
//! makes of the same bytes today?
//!
//! Every trace is translated again from its image's file and compared, all of it:
//! code, records, slots, relocations, exits and tables. What the file cannot answer is
//! skipped, with the reason: images and tools that have changed or are gone, code of another
//! build of ppin, traces whose bytes in memory were not those of the file.

use crate::runtime::ENGINE_ID;
use crate::source;
use crate::tools::{Found, Shelf};
use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;
use ppin_cachedb::{Database, Error, UnitPath};
use ppin_offline::again::{self, Verdict};
use ppin_offline::{Threads, tool_of};
use ppin_persist::UnitFile;
use ppin_plugin::Chosen;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Outcome.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Again {
    /// Traces compared.
    pub compared: u64,
    /// Traces that could not be compared.
    pub skipped: Vec<Skipped>,
    /// Traces that are not the same.
    pub differ: Vec<Differs>,
}

impl Again {
    fn skip(&mut self, unit: &Path, traces: u64, why: &str) {
        self.skipped.push(Skipped {
            unit: unit.to_owned(),
            traces,
            why: why.to_owned(),
        });
    }
}

/// Traces of a unit that were not compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// The unit.
    pub unit: PathBuf,
    /// Number of traces.
    pub traces: u64,
    /// Why.
    pub why: String,
}

/// A trace that is translated differently now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Differs {
    /// The unit that holds it.
    pub unit: PathBuf,
    /// Path of its image.
    pub image: String,
    /// Its head.
    pub head: ImageOff,
    /// Static context that it assumes on entry.
    pub context: Context,
    /// The first part that differs.
    pub what: &'static str,
}

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            unit,
            image,
            head,
            context,
            what,
        } = self;
        let unit = unit.display();
        write!(
            f,
            "the {what} of the trace at {image}+{:#x}, context {}, in {unit}",
            head.0, context.0
        )
    }
}

/// Images by path and hash, read once.
type Images = HashMap<(PathBuf, [u8; 32]), Result<crate::mapped::Bytes, String>>;

/// Compares all units that can be opened; those that cannot are [`Database::verify`]'s
/// business.
///
/// # Errors
/// A directory cannot be read.
pub fn all(db: &Database, progress: impl Fn(u64, u64)) -> Result<Again, Error> {
    let list = db.list()?;
    let units: Vec<&UnitPath> = list
        .iter()
        .flat_map(|image| &image.units)
        .map(|u| &u.path)
        .collect();
    let mut again = Again::default();
    let mut images = Images::new();
    let shelf = RefCell::new(Shelf::default());
    for (done, path) in (0..).zip(&units) {
        progress(done, units.len() as u64);
        if let Some(bytes) = db.read(path)?
            && let Ok(file) = UnitFile::open(&bytes, None)
        {
            compare_unit(path, &file, (&mut images, &shelf), &mut again);
        }
    }
    Ok(again)
}

/// Images that were read, and tools that were loaded.
type Kept<'a> = (&'a mut Images, &'a RefCell<Shelf>);

fn compare_unit(path: &UnitPath, file: &UnitFile<'_>, kept: Kept<'_>, again: &mut Again) {
    let unit = path.relative();
    let judged = match verdicts(file, kept) {
        Ok(judged) => judged,
        Err(why) => return again.skip(&unit, u64::from(file.unit().fragments()), &why),
    };
    let mut changed = 0;
    for (head, context, verdict) in judged {
        again.compared += u64::from(verdict != Verdict::NotInFile);
        match verdict {
            Verdict::Same => {}
            Verdict::NotInFile => changed += 1,
            Verdict::Differs(what) => again.differ.push(Differs {
                unit: unit.clone(),
                image: image_path(file).display().to_string(),
                head,
                context,
                what,
            }),
        }
    }
    if changed != 0 {
        again.skip(
            &unit,
            changed,
            "the code in memory was not that of the file",
        );
    }
}

/// A trace, by head and context, and what came of it.
type Judged = (ImageOff, Context, Verdict);

/// What comes of each of the unit's traces; why that cannot be told.
fn verdicts(file: &UnitFile<'_>, (images, shelf): Kept<'_>) -> Result<Vec<Judged>, String> {
    let key = file.unit().key();
    if key.engine != ENGINE_ID {
        return Err("made by another build of ppin".to_owned());
    }
    let load = |chosen: &Chosen| shelf.borrow_mut().load(&Found::again(chosen)?);
    let (tool, optimize) = tool_of(file, &load).map_err(|why| why.to_string())?;
    let path = image_path(file);
    let entry = images.entry((path.to_owned(), key.image));
    let read = entry.or_insert_with(|| source::image(path, &key.image));
    let image = read.as_ref().map_err(Clone::clone)?;
    // What is damaged is not for this verb to tell.
    let traces = file.thaw_all().unwrap_or_default();
    let verdicts = again::compare(file, &traces, image, (&*tool, optimize), &Threads::all());
    let codes = traces.iter().map(|thawed| &thawed.fragment);
    let judged = codes.zip(verdicts).map(|(c, v)| (c.head, c.context, v));
    Ok(judged.collect())
}

fn image_path<'a>(file: &UnitFile<'a>) -> &'a Path {
    Path::new(std::ffi::OsStr::from_bytes(file.unit().image_path()))
}

#[cfg(test)]
mod tests;
