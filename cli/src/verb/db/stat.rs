//! `ppin db stat`.

use crate::failure::{Failure, YES, failed};
use crate::options::Format;
use crate::text::size;
use ppin_cachedb::{Database, Totals};
use ppin_sdk::table::{Align, Table};
use serde_json::json;

/// Prints the figures.
pub fn stat(db: &Option<Database>, format: Format) -> Result<u8, Failure> {
    let totals = match db {
        Some(db) => db.stat().map_err(failed)?,
        None => Totals::default(),
    };
    let rows = rows(&totals);
    match format {
        Format::Human => print!("{}", human(&totals, &rows)),
        Format::Json => {
            let pairs = rows
                .iter()
                .map(|(key, value, _)| ((*key).to_owned(), json!(value)));
            println!("{}", serde_json::Value::Object(pairs.collect()));
        }
    }
    Ok(YES)
}

/// Key, value, and what it is in words.
fn rows(totals: &Totals) -> [(&'static str, u64, &'static str); 8] {
    [
        ("images", totals.images, "images"),
        ("keys", totals.keys, "builds of ppin and tools"),
        ("units", totals.units, "unit files"),
        ("traces", totals.fragments, "traces, duplicates counted"),
        ("bytes", totals.bytes, "bytes"),
        ("unreadable", totals.unreadable, "units that are damaged"),
        ("temporary", totals.temporary, "temporary files"),
        (
            "refused",
            totals.refused,
            "directories that are not trusted",
        ),
    ]
}

/// Damage is mentioned only if there is some.
fn human(totals: &Totals, rows: &[(&str, u64, &str)]) -> String {
    let mut table = Table::new([Align::Right, Align::Left]);
    for (key, value, what) in rows {
        match *key {
            "bytes" => table.row([size(totals.bytes), String::new()]),
            "images" | "keys" | "units" | "traces" => {
                table.row([value.to_string(), (*what).to_owned()]);
            }
            _ if *value == 0 => {}
            _ => table.row([value.to_string(), (*what).to_owned()]),
        }
    }
    table.to_string()
}
