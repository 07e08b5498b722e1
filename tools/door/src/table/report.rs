//! A tool's report.

use super::{Text, This};

/// Where it is written.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Report {
    /// The report.
    pub this: This,
    /// Whether it is for programs, as JSON.
    pub json: bool,
    /// Writes a piece of text.
    pub write: extern "C" fn(this: This, text: Text<'_>) -> bool,
}
