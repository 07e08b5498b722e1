//! The model as text for people.

use super::code_text;
use super::listing::{self, Listing};
use super::model::{Image, Printer, Trace, Traces, UnitFigures};
use crate::text::table;

/// Prints text.
pub struct Text;

impl Printer for Text {
    fn images(&mut self, images: &[Image]) {
        match images {
            [] => println!("The database is empty."),
            _ => print(listing::images(images)),
        }
    }

    fn units(&mut self, units: &[UnitFigures]) {
        let mut image = "";
        for unit in units {
            if image != unit.image {
                image = &unit.image;
                println!("{}", listing::image_of(unit));
            }
        }
        if !units.is_empty() {
            print(listing::units(units));
        }
    }

    fn traces(&mut self, traces: &Traces) {
        println!(
            "{}",
            listing::title(&traces.name, &traces.tool, &traces.image)
        );
        print(listing::traces(traces));
    }

    fn trace(&mut self, trace: &Trace) {
        println!("{}", code_text::text(trace));
    }
}

fn print<const N: usize>(listing: Listing<N>) {
    let mut table = table(listing.columns);
    listing.rows.into_iter().for_each(|row| table.row(row));
    print!("{table}");
}
