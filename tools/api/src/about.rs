//! What is known of a tool without running it.

use crate::knob::Knob;

/// A tool's description: a constant, so that it can be read from the tool's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// Name on the command line and in reports: small letters, digits, `-` and `_`.
    pub name: &'static str,
    /// What it tells, in one sentence.
    pub summary: &'static str,
    /// The options that it takes, checked by the command line.
    pub knobs: &'static [Knob],
}
