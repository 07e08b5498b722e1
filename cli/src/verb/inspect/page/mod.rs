//! The model as a page for a browser: one HTML file that needs no other.
//!
//! It is written as it comes: the code of a large unit is longer than anybody wants to hold in memory. The file is made
//! when there is something to show.

mod code;

use super::listing::{self, Listing};
use super::model::{Image, Printer, Trace, Traces, UnitFigures};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ppin_sdk::table::Align;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const STYLE: &str = include_str!("page.css");

/// Writes a page.
pub struct Page<'a> {
    path: &'a Path,
    /// What it is about.
    what: &'a str,
    /// It has all traces of its units, so that exits can lead to them.
    whole: bool,
    /// The unit of the trace before.
    unit: PathBuf,
    file: Option<BufWriter<File>>,
    /// The first error; nothing is written behind it.
    failed: Option<io::Error>,
}

impl<'a> Page<'a> {
    /// A page about `what`, for a file at `path`. `whole`: it will have all traces of its units.
    pub fn new(path: &'a Path, what: &'a str, whole: bool) -> Self {
        Self {
            path,
            what,
            whole,
            unit: PathBuf::new(),
            file: None,
            failed: None,
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// The first thing that went wrong.
    pub fn end(self) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)?;
        self.file.map_or(Ok(()), |mut file| file.flush())
    }

    fn add(&mut self, markup: &Markup) {
        if self.failed.is_none() {
            self.failed = self.write(markup).err();
        }
    }

    fn write(&mut self, markup: &Markup) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(begun(self.path, self.what)?),
        };
        writeln!(file, "{}", markup.0)
    }
}

/// The file with the page's head.
fn begun(path: &Path, what: &str) -> io::Result<BufWriter<File>> {
    let mut file = BufWriter::new(File::create(path)?);
    let page = html! {
        (DOCTYPE)
        meta charset="utf-8";
        title { "ppin: " (what) }
        style { (PreEscaped(STYLE)) }
        h1 { (what) }
    };
    // (The tags of html, head and body may be left out.)
    writeln!(file, "{}", page.0)?;
    Ok(file)
}

impl Printer for Page<'_> {
    fn images(&mut self, images: &[Image]) {
        match images {
            [] => self.add(&html! { p { "The database is empty." } }),
            _ => self.add(&table(&listing::images(images))),
        }
    }

    fn units(&mut self, units: &[UnitFigures]) {
        for of_image in units.chunk_by(|a, b| a.image == b.image) {
            self.add(&html! {
                h2 { (listing::image_of(&of_image[0])) }
                (table(&listing::units(of_image)))
            });
        }
    }

    fn traces(&mut self, traces: &Traces) {
        self.add(&html! {
            h2 { (listing::title(&traces.name, &traces.tool, &traces.image)) }
            (table(&listing::traces(traces)))
        });
    }

    fn trace(&mut self, trace: &Trace) {
        if self.unit != trace.unit {
            self.unit.clone_from(&trace.unit);
            let (name, tool, image) = (&trace.unit_name, &trace.tool, &trace.image);
            self.add(&html! { h2 { (listing::title(name, tool, image)) } });
        }
        self.add(&code::of(trace, self.whole));
    }
}

fn table<const N: usize>(listing: &Listing<N>) -> Markup {
    let side = |column: usize| match listing.columns[column].1 {
        Align::Left => "left",
        Align::Right => "right",
    };
    html! {
        table {
            tr { @for (column, (name, _)) in listing.columns.iter().enumerate() { th class=(side(column)) { (name) } } }
            @for row in &listing.rows {
                tr { @for (column, cell) in row.iter().enumerate() { td class=(side(column)) { (cell) } } }
            }
        }
    }
}
