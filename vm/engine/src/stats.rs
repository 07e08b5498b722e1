//! Figures of one process, written as one JSON line at its end.

use crate::config::Config;
use crate::sys::{proc, time};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use ppin_abi::boot::CacheMode;

/// Time stamp ticks by what they were spent on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Counter and CLOCK_MONOTONIC (ns) when the runtime began.
    pub start_ticks: u64,
    /// See above.
    pub start_ns: u64,
    /// From the launcher's start of injection to the runtime's first instruction, in
    /// nanoseconds.
    pub inject: u64,
    /// Finding and mapping units.
    pub load: u64,
    /// Verifying and relocating groups.
    pub relocate: u64,
    /// Translating.
    pub compile: u64,
    /// Freezing and writing units.
    pub persist: u64,
}

impl Times {
    /// The same in nanoseconds: the counter runs at the rate seen since the start.
    fn nanoseconds(&self) -> Self {
        let (ticks, ns) = time::both();
        let ticks = ticks.saturating_sub(self.start_ticks);
        let ns = ns.saturating_sub(self.start_ns);
        let scale = |t: u64| (u128::from(t) * u128::from(ns) / u128::from(ticks.max(1))) as u64;
        Self {
            load: scale(self.load),
            relocate: scale(self.relocate),
            compile: scale(self.compile),
            persist: scale(self.persist),
            ..*self
        }
    }
}

/// See the module. Keys are a contract (DESIGN: CLI).
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Traces translated.
    pub traces_compiled: u64,
    /// Traces translated at the end because the next run is likely to need them.
    pub traces_anticipated: u64,
    /// Persisted traces that were admitted: all of a group with the first that is executed.
    pub traces_reused: u64,
    /// Those of them that the VM was asked for; the others were reached by links.
    pub traces_looked_up: u64,
    /// Persisted fragments whose bytes were compared with the app's.
    pub fragments_validated: u64,
    /// Fields written because a unit lies elsewhere, and slots rebased.
    pub relocations_applied: u64,
    /// Units mapped.
    pub units_mapped: u64,
    /// Entries of the VM.
    pub vm_entries: u64,
    /// Bytes of code translated.
    pub code_bytes_new: u64,
    /// Bytes of persisted code admitted.
    pub code_bytes_reused: u64,
    /// Flushes of the full cache.
    pub flushes: u64,
    /// Comparisons with the processor.
    pub check: crate::sample::Figures,
    /// Times.
    pub time: Times,
    /// Why something persisted was not used, or nothing was saved.
    pub notes: Vec<String>,
    /// Children that ran natively, and why.
    pub native: Vec<String>,
}

impl Stats {
    /// Adds a reason, once.
    pub fn note(&mut self, reason: String) {
        const MOST: usize = 64;
        if self.notes.len() < MOST && !self.notes.contains(&reason) {
            self.notes.push(reason);
        }
    }

    /// The JSON line.
    #[must_use]
    pub fn line(&self, config: &Config, program: &str, ibl_misses: u64) -> String {
        let mode = match config.cache_mode {
            CacheMode::ReadWrite => "rw",
            CacheMode::ReadOnly => "ro",
            CacheMode::Off => "off",
        };
        let t = &self.time.nanoseconds();
        let busy = t.load + t.relocate + t.compile + t.persist;
        let mut s = String::new();
        let _ = write!(
            s,
            "{{\"pid\":{},\"program\":{},\"traces_compiled\":{},\"traces_reused\":{},\"traces_looked_up\":{},\"traces_anticipated\":{},\
             \"fragments_validated\":{},\"relocations_applied\":{},\"units_mapped\":{},\
             \"vm_entries\":{},\"code_bytes_new\":{},\"code_bytes_reused\":{},\"ibl_misses\":{},\
             \"flushes\":{},\"time_ns\":{{\"inject\":{},\"load\":{},\"relocate\":{},\"compile\":{},\
             \"persist\":{},\"vm\":{busy},\"total\":{}}},\"cache\":{{\"mode\":\"{mode}\",\"hit\":{},\
             \"reject_reasons\":{}}},{}\"native_children\":{}}}",
            proc::pid(),
            quote(program),
            self.traces_compiled,
            self.traces_reused,
            self.traces_looked_up,
            self.traces_anticipated,
            self.fragments_validated,
            self.relocations_applied,
            self.units_mapped,
            self.vm_entries,
            self.code_bytes_new,
            self.code_bytes_reused,
            ibl_misses,
            self.flushes,
            t.inject,
            t.load,
            t.relocate,
            t.compile,
            t.persist,
            time::monotonic_ns().saturating_sub(config.started_ns),
            self.units_mapped != 0,
            list(&self.notes),
            self.check,
            list(&self.native),
        );
        s.push('\n');
        s
    }
}

fn list(items: &[String]) -> String {
    let quoted: Vec<String> = items.iter().map(|i| quote(i)).collect();
    alloc::format!("[{}]", quoted.join(","))
}

/// `text` as a JSON string (RFC 8259).
#[must_use]
pub fn quote(text: &str) -> String {
    let mut s = String::from("\"");
    for ch in text.chars() {
        match ch {
            '"' | '\\' => {
                s.push('\\');
                s.push(ch);
            }
            ch if (ch as u32) < 0x20 => {
                let _ = write!(s, "\\u{:04x}", ch as u32);
            }
            ch => s.push(ch),
        }
    }
    s.push('"');
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(quote("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
    }
}
