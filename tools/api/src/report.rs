//! Reports.

use core::fmt;

/// Form of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people.
    Human,
    /// One JSON object on one line.
    Json,
}

/// Where a tool writes its result (`-o FILE`, else standard error).
pub trait Report: fmt::Write {
    /// The form that was asked for.
    fn format(&self) -> Format;
}
