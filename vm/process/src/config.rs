//! The run's configuration, as the launcher has put it into the boot block.

use alloc::string::String;
use alloc::vec::Vec;
use ppin_abi::boot::{BootHeader, CacheMode, RuntimeSpan, Str};
use ppin_abi::optimize::Optimize;

/// Configuration of the run. Strings are copies: the boot block belongs to the runtime, but a
/// followed exec builds a new block from these.
#[derive(Clone, Debug)]
pub struct Config {
    /// How the database is used.
    pub cache_mode: CacheMode,
    /// Bits of `ppin_abi::boot::flag`.
    pub flags: u32,
    /// Limit of fresh code in KiB, 0: default.
    pub cache_limit_kib: u32,
    /// With `flag::SAMPLE`: compare one in so many entries into the cache; 0: as many as time
    /// allows.
    pub check_every: u64,
    /// Bytes that the units of the database may take.
    pub db_cap: u64,
    /// Mechanisms of the compiler that are on.
    pub optimize: Optimize,
    /// Database directory, empty: none.
    pub db: String,
    /// Read-only databases behind it.
    pub db_stack: Vec<String>,
    /// Note of the launcher for the statistics; empty: none.
    pub note: String,
    /// Tool name.
    pub tool: String,
    /// Tool knobs, `name=value`.
    pub knobs: Vec<String>,
    /// Report file, empty: descriptor 2.
    pub output: String,
    /// Statistics file, empty: descriptor 2.
    pub stats: String,
    /// Log file, empty: none.
    pub log: String,
    /// The ppin executable.
    pub ppin: String,
    /// SHA-256 of the runtime.
    pub engine_id: [u8; 32],
    /// Position of the runtime in the ppin executable.
    pub runtime: RuntimeSpan,
    /// Identity of the ppin executable.
    pub ppin_ident: [u64; 3],
    /// When injection began (CLOCK_MONOTONIC, ns).
    pub started_ns: u64,
}

impl Config {
    /// Reads the configuration from the boot block.
    #[must_use]
    pub fn read(boot: &BootHeader) -> Self {
        let text = |s: Str| string(boot, s);
        let list = |s: Str, at: char| -> Vec<String> {
            string(boot, s)
                .split(at)
                .filter(|t| !t.is_empty())
                .map(String::from)
                .collect()
        };
        Self {
            cache_mode: match boot.cache_mode {
                0 => CacheMode::ReadWrite,
                1 => CacheMode::ReadOnly,
                _ => CacheMode::Off,
            },
            flags: boot.flags,
            cache_limit_kib: boot.cache_limit_kib,
            check_every: boot.check_every,
            db_cap: boot.db_cap,
            optimize: Optimize::from_bits(boot.optimize),
            db: text(boot.db),
            db_stack: list(boot.db_stack, ':'),
            note: text(boot.note),
            tool: text(boot.tool),
            knobs: list(boot.knobs, '\n'),
            output: text(boot.output),
            stats: text(boot.stats),
            log: text(boot.log),
            ppin: text(boot.ppin),
            engine_id: boot.engine_id,
            runtime: boot.runtime,
            ppin_ident: boot.ppin_ident,
            started_ns: boot.started_ns,
        }
    }

    /// Whether units may be read.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.cache_mode != CacheMode::Off && !self.db.is_empty()
    }

    /// Whether units may be written.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.cache_mode == CacheMode::ReadWrite && !self.db.is_empty()
    }
}

fn string(boot: &BootHeader, s: Str) -> String {
    if u64::from(s.at) + u64::from(s.len) > u64::from(boot.len) {
        return String::new();
    }
    // SAFETY: the block is one readable piece of memory, `boot.len` bytes long.
    let bytes = unsafe {
        let start = core::ptr::from_ref(boot).cast::<u8>().add(s.at as usize);
        core::slice::from_raw_parts(start, s.len as usize)
    };
    String::from_utf8_lossy(bytes).into_owned()
}
