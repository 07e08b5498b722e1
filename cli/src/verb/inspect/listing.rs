//! The tables of `inspect`, in words, for whatever shows them.

use super::model::{Image, Traces, UnitFigures};
use crate::text::{short, size};
use ppin_persist::UnitSummary;
use ppin_sdk::table::Align::{self, Left, Right};

/// A table of `N` columns.
pub struct Listing<const N: usize> {
    pub columns: [(&'static str, Align); N],
    pub rows: Vec<[String; N]>,
}

/// The images.
pub fn images(images: &[Image]) -> Listing<9> {
    let row = |image: &Image| {
        [
            image.name.clone(),
            short(&image.identity),
            image.tool.clone(),
            image.units.to_string(),
            image.sum.fragments.to_string(),
            image.sum.instructions.to_string(),
            growth(&image.sum),
            linked(&image.sum),
            size(image.bytes),
        ]
    };
    Listing {
        columns: [
            ("IMAGE", Left),
            ("IDENTITY", Left),
            ("TOOL", Left),
            ("UNITS", Right),
            ("TRACES", Right),
            ("INSTRUCTIONS", Right),
            ("HOT/APP", Right),
            ("LINKED", Right),
            ("SIZE", Right),
        ],
        rows: images.iter().map(row).collect(),
    }
}

/// Units.
pub fn units(units: &[UnitFigures]) -> Listing<10> {
    let row = |unit: &UnitFigures| {
        [
            unit.name.clone(),
            unit.tool.clone(),
            unit.sum.fragments.to_string(),
            unit.sum.instructions.to_string(),
            size(unit.sum.source),
            size(unit.sum.hot),
            size(unit.sum.cold),
            size(unit.sum.tables),
            linked(&unit.sum),
            signed(unit.displacement),
        ]
    };
    Listing {
        columns: [
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
        ],
        rows: units.iter().map(row).collect(),
    }
}

/// The traces of a unit.
pub fn traces(traces: &Traces) -> Listing<7> {
    let rows = traces.traces.iter().map(|trace| {
        [
            trace.number.to_string(),
            trace.place.clone(),
            trace.context.to_string(),
            trace.instructions.to_string(),
            trace.source_bytes.to_string(),
            trace.hot_bytes.to_string(),
            trace.cold_bytes.to_string(),
        ]
    });
    Listing {
        columns: [
            ("TRACE", Right),
            ("ADDRESS", Left),
            ("CONTEXT", Right),
            ("INS", Right),
            ("APP", Right),
            ("HOT", Right),
            ("COLD", Right),
        ],
        rows: rows.collect(),
    }
}

/// What stands above the traces of a unit.
pub fn title(name: &str, tool: &str, image: &str) -> String {
    format!("{name}, made for {tool} of {image}")
}

/// The image of a unit, and why its bytes cannot be had, if they cannot.
pub fn image_of(unit: &UnitFigures) -> String {
    let error = unit.image_error.as_ref();
    let error = error.map_or(String::new(), |why| format!(" ({why})"));
    format!("{}{error}", unit.image)
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

fn signed(displacement: i64) -> String {
    let sign = if displacement < 0 { "-" } else { "+" };
    format!("{sign}{:#x}", displacement.unsigned_abs())
}
