//! The tools of a run: found, described, given their knobs, and loaded into this process where
//! they themselves must be asked.
//!
//! ```text
//! found    which object a word of the command line means, and what it says of itself
//! knobs    which tool a knob is for
//! choice   the tools of a run, checked
//! loaded   objects in this process
//! ```

mod choice;
mod found;
mod knobs;
mod loaded;

pub use choice::Choice;
pub use found::{Found, bundled};
pub use loaded::Shelf;

/// The tool that inserts nothing: a run without any tool.
pub const NONE: &str = "null";
