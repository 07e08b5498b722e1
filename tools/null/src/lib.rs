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

impl Tool for Null {
    fn name(&self) -> &'static str {
        "null"
    }

    fn summary(&self) -> &'static str {
        "inserts nothing: what translation alone costs"
    }

    fn instrument(&self, _trace: &Trace<'_>) {}
}

#[cfg(test)]
mod tests;
