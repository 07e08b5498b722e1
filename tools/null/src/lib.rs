//! `null`: inserts nothing, and reports nothing.
//!
//! The program just runs translated: the measure of what translation itself costs,
//! and the smallest tool that there can be.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

use ppin_sdk::prelude::*;

/// The tool.
#[derive(Clone, Copy, Default, Debug)]
pub struct Null;

impl Null {
    /// Its name, summary and knobs.
    pub const ABOUT: About = About {
        name: "null",
        summary: "inserts nothing: what translation alone costs",
        knobs: &[],
    };
}

impl Tool for Null {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn instrument(&self, _trace: &Trace<'_>) {}
}

#[cfg(test)]
mod tests;
