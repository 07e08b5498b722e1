//! Figures of one process, written as one JSON line at its end.

use crate::config::Config;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use ppin_abi::boot::CacheMode;
use ppin_codecache::CodeCache;
use ppin_os::{proc, time};

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
}

impl Times {
    /// Nanoseconds in so many `ticks`: the counter runs at the rate seen since the start.
    fn nanoseconds(&self) -> impl Fn(u64) -> u64 {
        let (ticks, ns) = time::both();
        let ticks = ticks.saturating_sub(self.start_ticks);
        let ns = ns.saturating_sub(self.start_ns);
        move |t| (u128::from(t) * u128::from(ns) / u128::from(ticks.max(1))) as u64
    }
}

/// See the module. Keys are a contract (DESIGN: CLI).
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Entries of the VM.
    pub vm_entries: u64,
    /// Comparisons with the processor.
    pub check: crate::sampling::Figures,
    /// Times.
    pub time: Times,
    /// Children that ran natively, and why.
    pub native: Vec<String>,
}

impl Stats {
    /// The JSON line.
    #[must_use]
    pub fn line(&self, config: &Config, program: &str, code: &CodeCache) -> String {
        let (figures, ibl_misses) = (&code.figures, code.ibl.misses());
        let mode = match config.cache_mode {
            CacheMode::ReadWrite => "rw",
            CacheMode::ReadOnly => "ro",
            CacheMode::Off => "off",
        };
        let (ns, spent) = (self.time.nanoseconds(), &figures.spent);
        let [load, relocate, compile, persist] =
            [spent.load, spent.relocate, spent.compile, spent.persist].map(ns);
        let busy = load + relocate + compile + persist;
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
            figures.traces_compiled,
            figures.traces_reused,
            figures.traces_looked_up,
            figures.traces_anticipated,
            figures.fragments_validated,
            figures.relocations_applied,
            figures.units_mapped,
            self.vm_entries,
            figures.code_bytes_new,
            figures.code_bytes_reused,
            ibl_misses,
            figures.flushes,
            self.time.inject,
            load,
            relocate,
            compile,
            persist,
            time::monotonic_ns().saturating_sub(config.started_ns),
            figures.units_mapped != 0,
            list(&figures.notes),
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
