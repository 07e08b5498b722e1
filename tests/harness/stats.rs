//! `--stats=FILE`: JSON lines, one object for each process.

use serde_json::Value;
use std::fs;
use std::path::Path;

/// Every key that the command line's contract promises, in dotted form.
#[rustfmt::skip] // a table
pub const KEYS: &[&str] = &[
    "pid", "program",
    "traces_compiled", "traces_reused", "fragments_validated", "relocations_applied",
    "traces_looked_up", "traces_anticipated", "flushes", "flushed_bytes", "counter_bytes", "bundle_bytes", "buffer_bytes", "native_children",
    "units_mapped", "units_moved", "vm_entries", "code_bytes_new", "code_bytes_reused", "ibl_misses", "jumps_predicted",
    "time_ns.inject", "time_ns.load", "time_ns.relocate", "time_ns.compile",
    "time_ns.persist", "time_ns.vm", "time_ns.total",
    "cache.mode", "cache.hit", "cache.reject_reasons",
];

/// One process's statistics.
#[derive(Clone, Debug)]
pub struct Stats(pub Value);

impl Stats {
    /// Reads all objects of a file.
    pub fn read(path: &Path) -> Vec<Stats> {
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        text.lines()
            .map(|line| Stats(serde_json::from_str(line).expect("JSON line")))
            .collect()
    }

    /// Reads a file that must hold one object.
    pub fn one(path: &Path) -> Stats {
        let mut all = Stats::read(path);
        assert_eq!(all.len(), 1, "processes in {}: {all:?}", path.display());
        all.remove(0)
    }

    /// The value at a dotted key.
    pub fn at(&self, key: &str) -> &Value {
        let pointer = format!("/{}", key.replace('.', "/"));
        self.0
            .pointer(&pointer)
            .unwrap_or_else(|| panic!("no {key} in {}", self.0))
    }

    /// A number.
    pub fn number(&self, key: &str) -> u64 {
        self.at(key)
            .as_u64()
            .unwrap_or_else(|| panic!("{key} is no count in {}", self.0))
    }

    /// Whether the run was warm: nothing was translated but a path that depends on the
    /// addresses of this run, which one in a hundred meets.
    #[must_use]
    pub fn is_warm(&self) -> bool {
        self.compiled() <= 8
    }

    /// New traces compiled by this process.
    pub fn compiled(&self) -> u64 {
        self.number("traces_compiled")
    }

    /// Traces taken from the database by this process.
    pub fn reused(&self) -> u64 {
        self.number("traces_reused")
    }

    /// Why units were not used.
    pub fn rejections(&self) -> Vec<String> {
        let list = self.at("cache.reject_reasons").as_array().expect("a list");
        list.iter().map(ToString::to_string).collect()
    }
}
