//! The model as text for people.

use super::code_text;
use super::model::{Image, Printer, Trace, Traces, UnitFigures};
use crate::text::{short, size, table};
use ppin_persist::UnitSummary;
use ppin_sdk::table::Align::{Left, Right};

/// Prints text.
pub struct Text;

impl Printer for Text {
    fn images(&mut self, images: &[Image]) {
        if images.is_empty() {
            println!("The database is empty.");
            return;
        }
        let mut table = table([
            ("IMAGE", Left),
            ("IDENTITY", Left),
            ("TOOL", Left),
            ("UNITS", Right),
            ("TRACES", Right),
            ("INSTRUCTIONS", Right),
            ("HOT/APP", Right),
            ("LINKED", Right),
            ("SIZE", Right),
        ]);
        for image in images {
            table.row([
                image.name.clone(),
                short(&image.identity),
                image.tool.clone(),
                image.units.to_string(),
                image.sum.fragments.to_string(),
                image.sum.instructions.to_string(),
                growth(&image.sum),
                linked(&image.sum),
                size(image.bytes),
            ]);
        }
        print!("{table}");
    }

    fn units(&mut self, units: &[UnitFigures]) {
        let mut table = table([
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
        ]);
        let mut image = "";
        for unit in units {
            if image != unit.image {
                image = &unit.image;
                let error = unit.image_error.as_ref();
                println!(
                    "{image}{}",
                    error.map_or(String::new(), |why| format!(" ({why})"))
                );
            }
            table.row([
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
            ]);
        }
        if !units.is_empty() {
            print!("{table}");
        }
    }

    fn traces(&mut self, traces: &Traces) {
        let mut table = table([
            ("TRACE", Right),
            ("ADDRESS", Left),
            ("CONTEXT", Right),
            ("INS", Right),
            ("APP", Right),
            ("HOT", Right),
            ("COLD", Right),
        ]);
        for trace in &traces.traces {
            table.row([
                trace.number.to_string(),
                trace.place.clone(),
                trace.context.to_string(),
                trace.instructions.to_string(),
                trace.source_bytes.to_string(),
                trace.hot_bytes.to_string(),
                trace.cold_bytes.to_string(),
            ]);
        }
        println!(
            "{}, made for {} of {}",
            traces.name, traces.tool, traces.image
        );
        print!("{table}");
    }

    fn trace(&mut self, trace: &Trace) {
        println!("{}", code_text::text(trace));
    }
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
