//! `ppin db gc` and `ppin db rm`.

use super::args::{Gc, Which};
use crate::database::selection;
use crate::failure::{Failure, NO, USAGE, YES, failed};
use crate::options::Format;
use crate::size;
use crate::text::{count, size as in_words};
use ppin_cachedb::{Collected, Database, GcOptions, Selection};
use serde_json::json;

/// Tidies up.
pub fn collect(db: &Option<Database>, options: &Gc) -> Result<u8, Failure> {
    let cap = size::cap(options.max_size).map_err(|why| Failure::new(USAGE, why))?;
    let gc = GcOptions {
        cap: Some(cap),
        remove_dead: !options.keep_dead,
        compact: !options.no_merge,
        remove_damaged: !options.keep_damaged,
    };
    let done = match db {
        Some(db) => db.collect(&gc).map_err(failed)?,
        None => Collected::default(),
    };
    match options.format {
        Format::Human => print!("{}", human(&done)),
        Format::Json => println!("{}", as_json(&done)),
    }
    Ok(YES)
}

fn human(done: &Collected) -> String {
    let merged = &done.compacted;
    let mut text = String::new();
    let mut line = |on: bool, words: String| {
        if on {
            text += &words;
            text.push('\n');
        }
    };
    line(
        merged.units != 0,
        format!(
            "merged the units of {} ({} fewer, {})",
            count(merged.images, "image"),
            merged.units,
            count(merged.duplicates, "duplicate trace")
        ),
    );
    let removed = |units, bytes| format!("{} ({})", count(units, "unit"), in_words(bytes));
    let (damaged, evicted, dead) = (&done.damaged, &done.evicted, &done.dead);
    line(
        damaged.units != 0,
        format!(
            "removed as damaged: {}",
            removed(damaged.units, damaged.bytes)
        ),
    );
    line(
        dead.units != 0,
        format!(
            "removed as code of files that are gone or changed: {}",
            removed(dead.units, dead.bytes)
        ),
    );
    line(
        evicted.units != 0,
        format!(
            "removed as unused: {}",
            removed(evicted.units, evicted.bytes)
        ),
    );
    line(
        done.temporary != 0,
        format!(
            "removed as abandoned: {}",
            count(done.temporary, "small file")
        ),
    );
    for (unit, why) in &merged.damaged {
        line(
            true,
            format!("left alone: {}: {why}", unit.relative().display()),
        );
    }
    line(true, format!("{} remain", in_words(done.remaining)));
    text
}

fn as_json(done: &Collected) -> serde_json::Value {
    json!({
        "merged_images": done.compacted.images,
        "merged_units": done.compacted.units,
        "duplicates": done.compacted.duplicates,
        "damaged": done.damaged.units,
        "dead": done.dead.units,
        "evicted": done.evicted.units,
        "evicted_bytes": done.evicted.bytes,
        "temporary": done.temporary,
        "remaining_bytes": done.remaining,
    })
}

/// Removes what was named.
pub fn remove(db: &Option<Database>, which: &Which, format: Format) -> Result<u8, Failure> {
    let chosen = which.selections()?;
    if chosen.is_empty() {
        return Err(Failure::new(
            USAGE,
            "remove what? Name images, --key, or --all",
        ));
    }
    let (mut units, mut bytes) = (0, 0);
    if let Some(db) = db {
        for selection in &chosen {
            let removed = db.remove(selection).map_err(failed)?;
            units += removed.units;
            bytes += removed.bytes;
        }
    }
    match format {
        Format::Human => println!("removed {} ({})", count(units, "unit"), in_words(bytes)),
        Format::Json => println!("{}", json!({ "units": units, "bytes": bytes })),
    }
    Ok(if units == 0 && !which.all { NO } else { YES })
}

impl Which {
    /// The selection that the words name, if any.
    pub fn selections(&self) -> Result<Vec<Selection>, Failure> {
        if self.all {
            return Ok(vec![Selection::All]);
        }
        if let Some(key) = &self.key {
            return Ok(vec![Selection::Key(key.clone())]);
        }
        self.images.iter().map(|word| selection(word)).collect()
    }
}
