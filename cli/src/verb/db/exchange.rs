//! `ppin db export` and `ppin db import`.

use super::args::Which;
use crate::failure::{Failure, NO, USAGE, YES, failed};
use crate::text::{count, size};
use ppin_cachedb::{Database, Selection};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// Writes units to `file`, whole or not at all.
pub fn export(db: &Option<Database>, file: &Path, which: &Which) -> Result<u8, Failure> {
    let Some(db) = db else {
        return Err(failed("there is no database to export"));
    };
    let chosen = match which.selections()?.as_slice() {
        [] => Selection::All,
        [one] => one.clone(),
        _ => {
            return Err(Failure::new(
                USAGE,
                "one image at a time can be exported, or all",
            ));
        }
    };
    if file == Path::new("-") {
        let status = written(db, &chosen, &mut io::stdout().lock())?;
        // A pipe, which there is nothing of to write to a disk, says that it is one.
        let _ = nix::unistd::fsync(io::stdout());
        return Ok(status);
    }
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty());
    let named = |error: io::Error| failed(format!("{}: {error}", file.display()));
    let mut temporary = NamedTempFile::new_in(dir.unwrap_or(Path::new("."))).map_err(named)?;
    let status = written(db, &chosen, &mut BufWriter::new(temporary.as_file_mut()))?;
    temporary.as_file().sync_all().map_err(named)?;
    temporary
        .persist(file)
        .map_err(|error| named(error.error))?;
    let dir = File::open(dir.unwrap_or(Path::new(".")));
    dir.and_then(|dir| dir.sync_all()).map_err(named)?;
    Ok(status)
}

fn written(db: &Database, chosen: &Selection, out: &mut dyn Write) -> Result<u8, Failure> {
    let done = db.export(chosen, out).map_err(failed)?;
    eprintln!(
        "exported {} ({})",
        count(done.units, "unit"),
        size(done.bytes)
    );
    if done.damaged != 0 {
        eprintln!("left out as damaged: {}", count(done.damaged, "unit"));
    }
    Ok(if done.units == 0 || done.damaged != 0 {
        NO
    } else {
        YES
    })
}

/// Adds the units in `file`.
pub fn import(db: &Database, file: &Path) -> Result<u8, Failure> {
    let mut input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let opened = File::open(file);
        let opened = opened.map_err(|error| failed(format!("{}: {error}", file.display())))?;
        Box::new(BufReader::new(opened))
    };
    let done = db.import(&mut *input).map_err(failed)?;
    let known = count(done.known, "unit");
    println!(
        "imported {} ({}), {known} known before",
        count(done.units, "unit"),
        size(done.bytes)
    );
    for (position, why) in &done.damaged {
        eprintln!("ppin: unit {position} of the file is left out: {why}");
    }
    Ok(if done.damaged.is_empty() { YES } else { NO })
}
