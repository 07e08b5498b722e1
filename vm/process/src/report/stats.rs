//! Statistics of one process, written as one JSON line at its end.

use crate::config::Config;
use crate::sampling;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use ppin_abi::boot::CacheMode;
use ppin_codecache::CodeCache;
use ppin_os::{proc, time};

/// Clock values from the start of the run.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    /// Time stamp counter when the runtime began.
    start_ticks: u64,
    /// CLOCK_MONOTONIC (ns) when the runtime began.
    start_ns: u64,
    /// From the launcher's start of injection to the runtime's first instruction, in
    /// nanoseconds.
    inject: u64,
}

impl Times {
    /// Returns a function from ticks to nanoseconds. It uses the counter's rate since the start.
    fn nanoseconds(&self) -> impl Fn(u64) -> u64 {
        let (ticks, ns) = time::both();
        let ticks = ticks.saturating_sub(self.start_ticks);
        let ns = ns.saturating_sub(self.start_ns);
        move |t| (u128::from(t) * u128::from(ns) / u128::from(ticks.max(1))) as u64
    }
}

/// Statistics of one process. Their JSON keys are part of the command line's contract.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// How often the VM was entered.
    vm_entries: u64,
    /// Results of `--check=sample`.
    check: sampling::Figures,
    /// Clock values from the start of the run.
    time: Times,
    /// Programs that ran natively, and why.
    native: Vec<String>,
}

impl Stats {
    /// Statistics of a run whose injection began at `injected` and whose runtime began at `arrived`
    /// (CLOCK_MONOTONIC, ns), just now.
    #[must_use]
    pub fn begun(injected: u64, arrived: u64) -> Self {
        let time = Times {
            start_ticks: time::ticks(),
            start_ns: arrived,
            inject: arrived.saturating_sub(injected),
        };
        Self {
            time,
            ..Self::default()
        }
    }

    /// Statistics of a forked child: it has done nothing yet, and was not injected.
    #[must_use]
    pub fn of_child(&self) -> Self {
        let time = Times {
            inject: 0,
            ..self.time
        };
        Self {
            time,
            ..Self::default()
        }
    }

    /// Counts an entry of the VM.
    pub fn entered(&mut self) {
        self.vm_entries += 1;
    }

    /// Counts a sample: see [`sampling::Figures::add`].
    pub fn checked(&mut self, agreed: Option<u64>, ns: u64) {
        self.check.add(agreed, ns);
    }

    /// Results of `--check=sample`.
    #[must_use]
    pub fn check(&self) -> &sampling::Figures {
        &self.check
    }

    /// Notes that a program ran natively, and why.
    pub fn ran_natively(&mut self, note: String) {
        self.native.push(note);
    }

    /// The JSON line. `memory`: bytes of counters, bundles and buffers in each thread.
    #[must_use]
    pub fn line(
        &self,
        config: &Config,
        program: &str,
        code: &CodeCache,
        memory: [u64; 3],
    ) -> String {
        let (figures, ibl_misses) = (code.figures(), code.indirect_misses());
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
             \"fragments_validated\":{},\"relocations_applied\":{},\"units_mapped\":{},\"units_moved\":{},\
             \"vm_entries\":{},\"code_bytes_new\":{},\"code_bytes_reused\":{},\"ibl_misses\":{},\"jumps_predicted\":{},\
             \"flushes\":{},\"flushed_bytes\":{},\"counter_bytes\":{},\"bundle_bytes\":{},\"buffer_bytes\":{},\"time_ns\":{{\"inject\":{},\"load\":{},\"relocate\":{},\"compile\":{},\
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
            figures.units_moved,
            self.vm_entries,
            figures.code_bytes_new,
            figures.code_bytes_reused,
            ibl_misses,
            figures.jumps_predicted,
            figures.flushes,
            code.most_flushed_bytes(),
            memory[0],
            memory[1],
            memory[2],
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
