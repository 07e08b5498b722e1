//! `ppin db list`.

use crate::database::{label, name};
use crate::failure::{Failure, YES, failed};
use crate::options::Format;
use crate::text::{age, short, size, table};
use ppin_cachedb::{Database, ImageEntry, UnitEntry};
use ppin_persist::paths::to_hex;
use ppin_sdk::table::Align::{Left, Right};
use serde_json::{Value, json};

/// Lists images, or with `units` their files.
pub fn list(db: &Option<Database>, units: bool, format: Format) -> Result<u8, Failure> {
    let images = match db {
        Some(db) => db.list().map_err(failed)?,
        None => Vec::new(),
    };
    match format {
        Format::Json => images
            .iter()
            .for_each(|image| println!("{}", image_json(image))),
        Format::Human if images.is_empty() => println!("The database is empty."),
        Format::Human if units => print!("{}", unit_table(&images)),
        Format::Human => print!("{}", image_table(&images)),
    }
    Ok(YES)
}

fn image_table(images: &[ImageEntry]) -> String {
    let columns = [
        ("IMAGE", Left),
        ("IDENTITY", Left),
        ("TOOL", Left),
        ("UNITS", Right),
        ("TRACES", Right),
        ("SIZE", Right),
        ("USED", Right),
    ];
    let mut table = table(columns);
    for image in images {
        table.row([
            name(image),
            short(&image.image),
            label(&image.label),
            image.units.len().to_string(),
            image.fragments().to_string(),
            size(image.bytes()),
            age(image.last_use()),
        ]);
    }
    table.to_string()
}

fn unit_table(images: &[ImageEntry]) -> String {
    let columns = [
        ("UNIT", Left),
        ("TRACES", Right),
        ("SIZE", Right),
        ("USED", Right),
        ("", Left),
    ];
    let mut text = String::new();
    for image in images {
        let mut table = table(columns);
        text += &format!(
            "{} {} ({})\n",
            name(image),
            short(&image.image),
            label(&image.label)
        );
        for unit in &image.units {
            let traces = unit.facts.as_ref().map_or(0, |facts| facts.fragments);
            table.row([
                unit.path.name.file_name(),
                traces.to_string(),
                size(unit.len),
                age(unit.last_use),
                remark(unit),
            ]);
        }
        text += &table.to_string();
    }
    text
}

fn remark(unit: &UnitEntry) -> String {
    match &unit.facts {
        Err(why) => format!("not used: {why}"),
        Ok(_) => String::new(),
    }
}

fn image_json(image: &ImageEntry) -> Value {
    json!({
        "image": image.path.as_ref().map(|path| path.to_string_lossy()),
        "identity": to_hex(&image.image),
        "key": to_hex(&image.key_dir),
        "tool": label(&image.label),
        "traces": image.fragments(),
        "bytes": image.bytes(),
        "last_use": image.last_use(),
        "units": image.units.iter().map(unit_json).collect::<Vec<_>>(),
    })
}

fn unit_json(unit: &UnitEntry) -> Value {
    json!({
        "file": unit.path.relative().to_string_lossy(),
        "traces": unit.facts.as_ref().map_or(0, |facts| facts.fragments),
        "bytes": unit.len,
        "error": unit.facts.as_ref().err(),
    })
}
