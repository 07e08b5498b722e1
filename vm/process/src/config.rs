//! The run's configuration, as the launcher has put it into the boot block.

use alloc::string::String;
use alloc::vec::Vec;
use ppin_abi::boot::{BootHeader, CacheMode, RuntimeSpan, Str};
use ppin_abi::optimize::Optimize;
use ppin_plugin::{Chosen, chosen};

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
    /// Mechanisms of the compiler that are wanted.
    pub wanted: Optimize,
    /// Those of them that are possible, which are on.
    pub optimize: Optimize,
    /// Database directory, empty: none.
    pub db: String,
    /// Read-only databases behind it.
    pub db_stack: Vec<String>,
    /// Note of the launcher for the statistics; empty: none.
    pub note: String,
    /// The tools, in order; none: the program just runs translated.
    pub tools: Vec<Chosen>,
    /// Report file, empty: descriptor 2.
    pub output: String,
    /// Statistics file, empty: descriptor 2.
    pub stats: String,
    /// Log file, empty: none.
    pub log: String,
    /// File with places to translate, empty: none.
    pub places: String,
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
            wanted: Optimize::from_bits(boot.optimize),
            optimize: Optimize::from_bits(boot.optimize),
            db: text(boot.db),
            db_stack: list(boot.db_stack, ':'),
            note: text(boot.note),
            tools: chosen::read(&text(boot.tool), &text(boot.knobs)).unwrap_or_default(),
            output: text(boot.output),
            stats: text(boot.stats),
            log: text(boot.log),
            places: text(boot.places),
            ppin: text(boot.ppin),
            engine_id: boot.engine_id,
            runtime: boot.runtime,
            ppin_ident: boot.ppin_ident,
            started_ns: boot.started_ns,
        }
    }

    /// The tools' names; without any, the name under which that is known.
    #[must_use]
    pub fn tool_names(&self) -> String {
        let names: Vec<&str> = self.tools.iter().map(|tool| &*tool.name).collect();
        match names[..] {
            [] => String::from("null"),
            _ => names.join(", "),
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
    String::from_utf8_lossy(bytes(boot, s)).into_owned()
}

/// The bytes of `s`, which is a field of `boot`; none if they do not lie in the block.
#[must_use]
pub fn bytes(boot: &BootHeader, s: Str) -> &[u8] {
    if u64::from(s.at) + u64::from(s.len) > u64::from(boot.len) {
        return &[];
    }
    // SAFETY: the block is one readable piece of memory, `boot.len` bytes long.
    unsafe {
        let start = core::ptr::from_ref(boot).cast::<u8>().add(s.at as usize);
        core::slice::from_raw_parts(start, s.len as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use ppin_abi::boot::BOOTSTRAP_MAX;

    /// A boot block with texts behind the header.
    #[repr(C)]
    struct Block {
        header: BootHeader,
        texts: [u8; 16],
    }

    fn block(texts: [u8; 16]) -> Box<Block> {
        // SAFETY: integers only.
        let mut block: Box<Block> = Box::new(unsafe { core::mem::zeroed() });
        block.texts = texts;
        block.header.len = size_of::<Block>() as u32;
        block
    }

    const fn text(at: u32, len: u32) -> Str {
        Str {
            at: size_of::<BootHeader>() as u32 + at,
            len,
        }
    }

    #[test]
    fn texts_are_read_from_the_block_and_lists_divided() {
        let mut boot = block(*b"/db/one:/db/two:");
        boot.header.db = text(0, 7);
        boot.header.db_stack = text(0, 16);
        let config = Config::read(&boot.header);
        assert_eq!((&*config.db, config.tools.len()), ("/db/one", 0));
        assert_eq!(config.db_stack, ["/db/one", "/db/two"]);
        assert!(boot.header.saved.len() == BOOTSTRAP_MAX && config.reads() && config.writes());
    }

    #[test]
    fn a_text_that_leaves_the_block_is_empty() {
        let mut boot = block([b'x'; 16]);
        boot.header.db = text(1, 15);
        boot.header.tool = text(1, 16);
        boot.header.note = text(u32::MAX / 2, u32::MAX);
        let config = Config::read(&boot.header);
        assert_eq!(
            (config.db.len(), config.tools.len(), &*config.note),
            (15, 0, "")
        );
    }

    #[test]
    fn a_database_is_used_as_the_mode_says() {
        let mut boot = block([b'x'; 16]);
        boot.header.db = text(0, 1);
        let uses = [0, 1, 2].map(|mode| {
            boot.header.cache_mode = mode;
            let config = Config::read(&boot.header);
            (config.reads(), config.writes())
        });
        assert_eq!(uses, [(true, true), (true, false), (false, false)]);
        (boot.header.cache_mode, boot.header.db) = (0, Str::default());
        let config = Config::read(&boot.header);
        assert!(!config.reads() && !config.writes(), "there is none");
    }
}
