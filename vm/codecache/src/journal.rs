//! What is being done, a line for each event (`--log`).
//!
//! Lines are gathered here; who has the lock writes them to the file in pieces.

use alloc::string::String;
use core::fmt::{Arguments, Write};
use ppin_os::{proc, time};

/// See the module.
#[derive(Debug, Default)]
pub struct Journal {
    /// CLOCK_MONOTONIC (ns) when the run began; `None`: nothing is noted.
    begun: Option<u64>,
    lines: String,
}

impl Journal {
    /// Notes events from here on, with times since `started` (CLOCK_MONOTONIC, ns).
    pub fn begin(&mut self, started: u64) {
        self.begun = Some(started);
    }

    /// Notes an event.
    pub fn note(&mut self, event: Arguments<'_>) {
        if let Some(begun) = self.begun {
            line(&mut self.lines, begun, event);
        }
    }

    /// The line of an event, which is not gathered; `None`: nothing is noted.
    #[must_use]
    pub fn line(&self, event: Arguments<'_>) -> Option<String> {
        let mut text = String::new();
        line(&mut text, self.begun?, event);
        Some(text)
    }

    /// Bytes gathered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether nothing is gathered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Takes what has been gathered.
    pub fn take(&mut self) -> String {
        core::mem::take(&mut self.lines)
    }
}

fn line(to: &mut String, begun: u64, event: Arguments<'_>) {
    let us = time::monotonic_ns().saturating_sub(begun) / 1000;
    let (ms, us) = (us / 1000, us % 1000);
    // Writing to a string does not fail.
    let _ = writeln!(to, "{} {ms}.{us:03} {event}", proc::pid());
}
