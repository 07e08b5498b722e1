//! `ppin db verify --recompile`: is the code that is kept the code that this ppin
//! makes of the same bytes today?
//!
//! Every trace is translated again from its image's file and compared, all of it:
//! code, stubs, slots, relocations, exits and tables. What the file cannot answer is
//! skipped, with the reason: images that have changed, code of another build of ppin,
//! traces whose bytes in memory were not those of the file.

use crate::runtime::ENGINE_ID;
use crate::source;
use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_abi::context::Context;
use ppin_api::Tool;
use ppin_cachedb::{Database, Error, UnitPath};
use ppin_jit::{BytesEnd, Request, compile};
use ppin_persist::{LOW_IMAGE, Segments, Thawed, UnitFile, code_at, source_hash, tool_key};
use ppin_relocator::{Fragment, normalise};
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
    for (done, path) in (0..).zip(&units) {
        progress(done, units.len() as u64);
        if let Some(bytes) = db.read(path)?
            && let Ok(file) = UnitFile::open(&bytes, None)
        {
            compare_unit(path, &file, &mut images, &mut again);
        }
    }
    Ok(again)
}

fn compare_unit(path: &UnitPath, file: &UnitFile<'_>, images: &mut Images, again: &mut Again) {
    let unit = path.relative();
    let skipped = |traces: u64, why: String| Skipped {
        unit: unit.clone(),
        traces,
        why,
    };
    let everything = u64::from(file.unit().fragments());
    let maker = match Maker::of(file, images) {
        Ok(maker) => maker,
        Err(why) => return again.skipped.push(skipped(everything, why)),
    };
    let Ok(traces) = file.thaw_all() else { return };
    let mut other = 0;
    for thawed in &traces {
        match maker.compare(thawed) {
            None => other += 1,
            Some(verdict) => {
                again.compared += 1;
                again.differ.extend(verdict.map(|what| Differs {
                    unit: unit.clone(),
                    image: maker.name.clone(),
                    head: thawed.fragment.head,
                    context: thawed.fragment.context,
                    what,
                }));
            }
        }
    }
    if other != 0 {
        let why = "the code in memory was not that of the file".to_owned();
        again.skipped.push(skipped(other, why));
    }
}

/// All that is needed to make a unit's traces again.
struct Maker<'a> {
    name: String,
    bytes: &'a [u8],
    segments: Option<Segments>,
    base: ImageBase,
    tool: Box<dyn Tool>,
}

impl<'a> Maker<'a> {
    fn of(file: &UnitFile<'_>, images: &'a mut Images) -> Result<Self, String> {
        let unit = file.unit();
        let key = unit.key();
        if key.engine != ENGINE_ID {
            return Err("made by another build of ppin".to_owned());
        }
        let options = if is_low(file) { LOW_IMAGE } else { b"" };
        let tool = tool_of(unit.label(), options, &key.tool)?;
        let path = Path::new(std::ffi::OsStr::from_bytes(unit.image_path()));
        let entry = images.entry((path.to_owned(), key.image));
        let read = entry.or_insert_with(|| source::image(path, &key.image));
        let bytes = read.as_ref().map_err(Clone::clone)?;
        Ok(Self {
            name: path.display().to_string(),
            bytes,
            segments: Segments::of_file(bytes),
            base: base(file),
            tool,
        })
    }

    /// The part that differs, if any; `None` if the file cannot tell.
    fn compare(&self, thawed: &Thawed) -> Option<Option<&'static str>> {
        let kept = &thawed.fragment;
        let segments = self.segments.as_ref();
        let bytes = code_at(self.bytes, segments, kept.head.0, kept.source_len)?;
        if source_hash(bytes) != thawed.source_hash {
            return None;
        }
        let request = Request {
            pc: kept.head.at(self.base),
            image: self.base,
            context: kept.context,
            bytes,
            end: BytesEnd::Limit,
            max_source: Some(kept.source_len),
            sequences: &[],
        };
        let mut made = compile(&request, &*self.tool);
        normalise(&mut made);
        Some(difference(kept, &made))
    }
}

/// A base at which the compiler chooses the same forms as it did: absolute addresses
/// in images below 2 GiB, distances above.
fn base(file: &UnitFile<'_>) -> ImageBase {
    const LOW: ImageBase = ImageBase(0x40_0000);
    const HIGH: ImageBase = ImageBase(0x7f00_0000_0000);
    let absolute = file.unit().geometry().absolute_for;
    absolute.unwrap_or(if is_low(file) { LOW } else { HIGH })
}

/// Code of images below 2 GiB lies above them, that of others below.
fn is_low(file: &UnitFile<'_>) -> bool {
    file.unit().geometry().displacement > 0
}

/// The tool as it was when the unit was made: `label` is its name, and a line for
/// each knob.
fn tool_of(label: &[u8], options: &[u8], key: &[u8; 32]) -> Result<Box<dyn Tool>, String> {
    let text = String::from_utf8_lossy(label);
    let mut lines = text.lines();
    let name = lines.next().unwrap_or_default();
    let mut tool = ppin_tools::by_name(name).ok_or_else(|| format!("there is no tool {name}"))?;
    let mut knobs: Vec<&str> = lines.collect();
    let pairs: Vec<_> = knobs
        .iter()
        .filter_map(|knob| knob.split_once('='))
        .collect();
    tool.configure(&pairs)?;
    let changing = |knob: &&str| {
        let named =
            |known: &ppin_api::Knob| knob.split_once('=').is_some_and(|(n, _)| n == known.name);
        tool.knobs()
            .iter()
            .any(|known| known.changes_code && named(known))
    };
    knobs.retain(changing);
    knobs.sort_unstable();
    if tool_key(name.as_bytes(), knobs.join("\n").as_bytes(), options) != *key {
        return Err(format!("made with other knobs of {name} than it says"));
    }
    Ok(tool)
}

/// The first part in which two translations differ.
fn difference(kept: &Fragment, made: &Fragment) -> Option<&'static str> {
    let parts = [
        (kept.hot == made.hot, "code"),
        (kept.cold == made.cold, "stubs and records"),
        (kept.slots == made.slots, "slots"),
        (kept.relocs == made.relocs, "relocations"),
        (kept.exits == made.exits, "exits"),
        (kept.pc_map == made.pc_map, "pc map"),
        (kept.counts == made.counts, "counts"),
        (kept == made, "extent"),
    ];
    parts.iter().find(|(same, _)| !same).map(|(_, what)| *what)
}

#[cfg(test)]
mod tests;
