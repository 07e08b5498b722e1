//! `ppin db verify`.

use super::recompile::{self, Again};
use crate::failure::{Failure, NO, YES, failed};
use crate::options::Format;
use crate::text::{Progress, count, size};
use ppin_cachedb::{Database, Verified};
use serde_json::json;

/// Verifies all of it; the status says whether something is damaged.
pub fn verify(db: &Option<Database>, recompile: bool, format: Format) -> Result<u8, Failure> {
    let (verified, again) = match db {
        None => (Verified::default(), Again::default()),
        Some(db) => (
            checksums(db)?,
            if recompile {
                translations(db)?
            } else {
                Again::default()
            },
        ),
    };
    let sound = verified.damage.is_empty() && again.differ.is_empty();
    match format {
        Format::Human => print!("{}", human(&verified, recompile.then_some(&again))),
        Format::Json => println!("{}", as_json(&verified, recompile.then_some(&again))),
    }
    Ok(if sound { YES } else { NO })
}

fn checksums(db: &Database) -> Result<Verified, Failure> {
    let progress = Progress::new("verifying");
    db.verify(|done, all| progress.at(done, all))
        .map_err(failed)
}

fn translations(db: &Database) -> Result<Again, Failure> {
    let progress = Progress::new("translating");
    recompile::all(db, |done, all| progress.at(done, all)).map_err(failed)
}

fn human(verified: &Verified, again: Option<&Again>) -> String {
    let mut text = String::new();
    for damage in &verified.damage {
        text += &format!("damaged: {}: {}\n", damage.path.display(), damage.why);
    }
    text += &format!(
        "verified {} ({}), {} damaged\n",
        count(verified.units, "unit"),
        size(verified.bytes),
        verified.damage.len()
    );
    if let Some(again) = again {
        text += &human_again(again);
    }
    text
}

fn human_again(again: &Again) -> String {
    let mut text = String::new();
    for differs in &again.differ {
        text += &format!("differs: {differs}\n");
    }
    for skipped in &again.skipped {
        let traces = count(skipped.traces, "trace");
        text += &format!(
            "skipped: {} ({traces}): {}\n",
            skipped.unit.display(),
            skipped.why
        );
    }
    text += &format!(
        "translated {} again, {} differ, {} skipped\n",
        count(again.compared, "trace"),
        again.differ.len(),
        again
            .skipped
            .iter()
            .map(|skipped| skipped.traces)
            .sum::<u64>()
    );
    text
}

fn as_json(verified: &Verified, again: Option<&Again>) -> serde_json::Value {
    let damage = verified.damage.iter();
    let damage: Vec<_> = damage
        .map(|d| json!({ "path": d.path.to_string_lossy(), "why": d.why }))
        .collect();
    let mut object = json!({
        "units": verified.units,
        "bytes": verified.bytes,
        "damage": damage,
    });
    if let Some(again) = again {
        let skipped = again
            .skipped
            .iter()
            .map(|s| json!({ "unit": s.unit.to_string_lossy(), "traces": s.traces, "why": s.why }));
        let differ = again.differ.iter().map(|d| {
            json!({
                "unit": d.unit.to_string_lossy(),
                "image": d.image,
                "head": d.head.0,
                "context": d.context.0,
                "what": d.what,
            })
        });
        object["recompile"] = json!({
            "compared": again.compared,
            "skipped": skipped.collect::<Vec<_>>(),
            "differ": differ.collect::<Vec<_>>(),
        });
    }
    object
}
