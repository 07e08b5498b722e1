//! Listings of images, units and traces.

use super::load;
use super::unit::Unit;
use crate::text::{short, size, table};
use crate::verb::db::{label, name};
use ppin_cachedb::{Database, ImageEntry};
use ppin_persist::UnitSummary;
use ppin_persist::paths::to_hex;
use ppin_sdk::table::Align::{Left, Right};
use serde_json::json;

/// Sums over units.
fn add(sum: &mut UnitSummary, unit: &UnitSummary) {
    sum.fragments += unit.fragments;
    sum.instructions += unit.instructions;
    sum.source += unit.source;
    sum.hot += unit.hot;
    sum.cold += unit.cold;
    sum.slots += unit.slots;
    sum.tables += unit.tables;
    sum.file += unit.file;
    sum.exits += unit.exits;
    sum.linked += unit.linked;
}

/// How much translated code one byte of the program's became.
fn growth(sum: &UnitSummary) -> String {
    if sum.source == 0 {
        return String::new();
    }
    format!("{:.2}", sum.hot as f64 / sum.source as f64)
}

fn linked(sum: &UnitSummary) -> String {
    if sum.exits == 0 {
        return String::new();
    }
    format!(
        "{:.0} %",
        100.0 * f64::from(sum.linked) / f64::from(sum.exits)
    )
}

fn figures(sum: &UnitSummary) -> serde_json::Value {
    json!({
        "traces": sum.fragments,
        "instructions": sum.instructions,
        "source_bytes": sum.source,
        "hot_bytes": sum.hot,
        "cold_bytes": sum.cold,
        "slot_bytes": sum.slots,
        "table_bytes": sum.tables,
        "file_bytes": sum.file,
        "exits": sum.exits,
        "linked_exits": sum.linked,
    })
}

/// All images.
pub fn images(db: Option<&Database>, images: &[ImageEntry], json: bool) {
    let columns = [
        ("IMAGE", Left),
        ("IDENTITY", Left),
        ("TOOL", Left),
        ("UNITS", Right),
        ("TRACES", Right),
        ("INSTRUCTIONS", Right),
        ("HOT/APP", Right),
        ("LINKED", Right),
        ("SIZE", Right),
    ];
    let mut table = table(columns);
    for image in images {
        let mut sum = UnitSummary::default();
        for unit in &image.units {
            if let Some(Ok(Some(unit))) = db.map(|db| load(db, &unit.path)) {
                add(&mut sum, &unit.summary());
            }
        }
        if json {
            let mut object = figures(&sum);
            object["image"] = json!(name(image));
            object["identity"] = json!(to_hex(&image.image));
            object["tool"] = json!(label(&image.label));
            object["units"] = json!(image.units.len());
            println!("{object}");
            continue;
        }
        table.row([
            name(image),
            short(&image.image),
            label(&image.label),
            image.units.len().to_string(),
            sum.fragments.to_string(),
            sum.instructions.to_string(),
            growth(&sum),
            linked(&sum),
            size(image.bytes()),
        ]);
    }
    match (json, images.is_empty()) {
        (true, _) => {}
        (false, true) => println!("The database is empty."),
        (false, false) => print!("{table}"),
    }
}

/// Units of an image; how many there are.
pub fn units(units: &[Unit], json: bool) -> usize {
    let columns = [
        ("UNIT", Left),
        ("TOOL", Left),
        ("TRACES", Right),
        ("INSTRUCTIONS", Right),
        ("APP", Right),
        ("HOT", Right),
        ("COLD", Right),
        ("TABLES", Right),
        ("LINKED", Right),
        ("AT", Right),
    ];
    let mut table = table(columns);
    let mut image = String::new();
    for unit in units {
        let sum = unit.summary();
        let at = unit.file().unit().geometry().displacement;
        if json {
            let mut object = figures(&sum);
            object["unit"] = json!(unit.path.to_string_lossy());
            object["image"] = json!(unit.image_path());
            object["tool"] = json!(unit.tool());
            object["displacement"] = json!(at);
            println!("{object}");
            continue;
        }
        if image != unit.image_path() {
            image = unit.image_path();
            println!(
                "{image}{}",
                unit.image
                    .as_ref()
                    .err()
                    .map_or(String::new(), |why| format!(" ({why})"))
            );
        }
        table.row([
            unit.name(),
            unit.tool(),
            sum.fragments.to_string(),
            sum.instructions.to_string(),
            size(sum.source),
            size(sum.hot),
            size(sum.cold),
            size(sum.tables),
            linked(&sum),
            format!("{}{:#x}", if at < 0 { "-" } else { "+" }, at.unsigned_abs()),
        ]);
    }
    if !json && !units.is_empty() {
        print!("{table}");
    }
    units.len()
}

/// Traces of a unit; how many there are.
pub fn traces(unit: &Unit, json: bool) -> usize {
    let columns = [
        ("TRACE", Right),
        ("ADDRESS", Left),
        ("CONTEXT", Right),
        ("INS", Right),
        ("APP", Right),
        ("HOT", Right),
        ("COLD", Right),
    ];
    let mut table = table(columns);
    let file = unit.file();
    let tables = file.unit();
    for number in 0..tables.fragments() {
        let Ok(info) = tables.info(number) else {
            continue;
        };
        let address = unit.elf.address(info.head.0);
        if json {
            println!(
                "{}",
                json!({
                    "trace": number,
                    "unit": unit.path.to_string_lossy(),
                    "offset": info.head.0,
                    "address": address,
                    "symbol": unit.elf.symbol(address).map(|(name, _)| name),
                    "context": info.context.0,
                    "instructions": info.instructions,
                    "source_bytes": info.source_len,
                    "hot_bytes": info.hot.len(),
                    "cold_bytes": info.cold.len(),
                })
            );
            continue;
        }
        table.row([
            number.to_string(),
            unit.elf.describe(address),
            info.context.0.to_string(),
            info.instructions.to_string(),
            info.source_len.to_string(),
            info.hot.len().to_string(),
            info.cold.len().to_string(),
        ]);
    }
    if !json {
        println!(
            "{}, made for {} of {}",
            unit.name(),
            unit.tool(),
            unit.image_path()
        );
        print!("{table}");
    }
    tables.fragments() as usize
}
