//! `ppin inspect`: what the database holds of a program, down to one trace with the
//! program's code beside its translation.
//!
//! ```text
//! target            what the word on the command line means
//! load, unit, elf   a unit with its image's bytes and symbols
//! gather -> model   what is shown
//! text, json, page  how; listing, beside: in words, and side by side
//! ```

mod beside;
mod code_text;
mod elf;
mod gather;
mod json;
mod listing;
mod load;
mod model;
mod page;
mod target;
mod text;
mod unit;

use crate::database::{path_of, reader};
use crate::failure::{Failure, NO, YES, failed};
use crate::preflight::reason;
use clap::Args;
use json::Json;
use model::Printer;
use page::Page;
use ppin_cachedb::{Database, ImageEntry};
use std::path::{Path, PathBuf};
use target::Target;
use text::Text;
use unit::Unit;

/// `ppin inspect`.
#[derive(Debug, Args)]
#[command(after_help = "\
IMAGE is a path, a file name or the beginning of an identity; UNIT a unit file or its name; \
ADDRESS is one as nm and objdump print it, behind 0x. IMAGE:ADDRESS and IMAGE:SYMBOL look \
into one image only.

Exit status: 0 found, 1 nothing found, 2 wrong use.")]
pub struct Inspect {
    /// IMAGE, UNIT, ADDRESS or SYMBOL; all images if it is not given
    pub what: Option<String>,
    /// Show the code of all traces of the image or unit
    #[arg(long)]
    pub disasm: bool,
    /// One JSON object on a line for each image, unit or trace
    #[arg(long)]
    pub json: bool,
    /// Write a page for a browser to FILE instead
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
    /// Database directory [default: $PPIN_DB, else $XDG_CACHE_HOME/ppin, else ~/.cache/ppin]
    #[arg(long, value_name = "DIR")]
    pub db: Option<PathBuf>,
}

/// Shows it; the status says whether there was anything.
pub fn inspect(args: &Inspect) -> Result<u8, Failure> {
    let path = path_of(args.db.as_deref())?;
    let db = reader(&path)?;
    let images = match &db {
        Some(db) => db.list().map_err(failed)?,
        None => Vec::new(),
    };
    let found = Found {
        db: db.as_ref(),
        images: &images,
    };
    let shown = match &args.html {
        Some(file) => on_page(args, &found, file)?,
        None if args.json => print(args, &found, &mut Json)?,
        None => print(args, &found, &mut Text)?,
    };
    if let (0, Some(word)) = (shown, &args.what) {
        eprintln!("ppin: nothing is known of {word} in {}", path.display());
        return Ok(NO);
    }
    Ok(YES)
}

/// What the database holds.
struct Found<'a> {
    db: Option<&'a Database>,
    images: &'a [ImageEntry],
}

/// Writes a page of what is asked for; how much that was.
fn on_page(args: &Inspect, found: &Found<'_>, file: &Path) -> Result<usize, Failure> {
    let what = args.what.as_deref().unwrap_or("All images");
    let mut page = Page::new(file, what, args.disasm);
    let shown = print(args, found, &mut page)?;
    let why = |error| failed(format!("{}: {}", file.display(), reason(&error)));
    page.end().map_err(why)?;
    Ok(shown)
}

/// Shows what is asked for; how much that was.
fn print(args: &Inspect, found: &Found<'_>, printer: &mut dyn Printer) -> Result<usize, Failure> {
    let Some(word) = &args.what else {
        printer.images(&gather::images(found.db, found.images));
        return Ok(found.images.len());
    };
    let target = Target::of(word, found.images);
    let units = target.units(found.db, found.images)?;
    show(&target, &units, args.disasm, printer)
}

/// Prints what the word means; how much that was.
fn show(
    target: &Target,
    units: &[Unit],
    disasm: bool,
    printer: &mut dyn Printer,
) -> Result<usize, Failure> {
    let place = match target {
        Target::Traces { place, .. } => Some(place),
        _ if disasm => None,
        Target::Unit(_) => {
            let traces: Vec<_> = units.iter().map(gather::traces).collect();
            traces.iter().for_each(|traces| printer.traces(traces));
            return Ok(traces.iter().map(|traces| traces.count).sum());
        }
        Target::Image(_) => {
            printer.units(&gather::units(units));
            return Ok(units.len());
        }
    };
    let mut show = |trace: &_| printer.trace(trace);
    let shown = units
        .iter()
        .map(|unit| gather::code(unit, place, &mut show));
    shown.sum()
}
