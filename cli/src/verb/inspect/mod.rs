//! `ppin inspect`: what the database holds of a program, down to one trace with the
//! program's code beside its translation.

mod elf;
mod overview;
mod target;
mod trace;
mod unit;

use super::db::{failed, path_of, reader};
use crate::failure::{Failure, NO, YES};
use clap::Args;
use ppin_cachedb::Database;
use std::path::PathBuf;
use target::Target;
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
    let Some(word) = &args.what else {
        overview::images(db.as_ref(), &images, args.json);
        return Ok(YES);
    };
    let target = Target::of(word, &images);
    let units = target.units(db.as_ref(), &images)?;
    let found = match &target {
        Target::Traces { place, .. } => {
            let mut found = 0;
            for unit in &units {
                found += trace::at(unit, place, args.json)?;
            }
            found
        }
        _ if args.disasm => {
            let mut found = 0;
            for unit in &units {
                found += trace::all(unit, args.json)?;
            }
            found
        }
        Target::Unit(_) => units
            .iter()
            .map(|unit| overview::traces(unit, args.json))
            .sum(),
        Target::Image(_) => overview::units(&units, args.json),
    };
    if found == 0 {
        eprintln!("ppin: nothing is known of {word} in {}", path.display());
        return Ok(NO);
    }
    Ok(YES)
}

/// The bytes of one unit of the database; `None` if it is gone or damaged.
fn load(db: &Database, path: &ppin_cachedb::UnitPath) -> Result<Option<Unit>, Failure> {
    let bytes = db.read(path).map_err(failed)?;
    Ok(bytes.and_then(|bytes| Unit::new(path.relative(), bytes).ok()))
}
