//! The databases that a process may use, and under which key.

use alloc::string::String;
use alloc::vec::Vec;
use ppin_abi::addr::ImageBase;
use ppin_abi::optimize::Optimize;
use ppin_os::regions;
use ppin_persist::{Key, options, tool_key};
use ppin_store::{Folder, Store};

/// See the module.
#[derive(Debug)]
pub struct Library {
    /// What is known of their folders.
    pub store: Store,
    /// Paths: first the one that may be written to, then those that are only read.
    pub databases: Vec<String>,
    /// Units may be read.
    pub reads: bool,
    /// Units may be written, as far as the launcher is concerned.
    pub writes: bool,
    /// Nothing may be saved any more (trust given up, borrowed memory).
    pub closed: bool,
    /// Bits of `ppin_abi::boot::flag`.
    pub flags: u32,
    /// SHA-256 of the runtime.
    pub engine: [u8; 32],
    /// The tool's name.
    pub tool: String,
    /// Those of its knobs that change code, with their values, a line each, sorted.
    pub knobs: String,
    /// Mechanisms of the compiler that are on.
    pub optimize: Optimize,
}

impl Library {
    /// Whether something may be saved now.
    #[must_use]
    pub fn may_save(&self) -> bool {
        self.writes && !self.closed
    }

    /// The database that may be written to; empty: none.
    #[must_use]
    pub fn own(&self) -> &str {
        self.databases.first().map_or("", String::as_str)
    }

    /// The key of the units of an image based at `base`.
    #[must_use]
    pub fn key(&self, image: [u8; 32], base: ImageBase) -> Key {
        let options = options(base.0 < regions::LOW, self.optimize);
        Key {
            image,
            engine: self.engine,
            tool: tool_key(self.tool.as_bytes(), self.knobs.as_bytes(), &options),
        }
    }

    /// The folder `relative` of database number `n`, which is used from here on.
    pub(crate) fn folder(&mut self, n: usize, relative: &str) -> Option<Folder> {
        let dir = self.store.folder(&self.databases[n], relative)?;
        if n == 0 && self.may_save() {
            self.store.note_use(&dir);
        }
        Some(dir)
    }

    /// The folder `relative` of the database that may be written to.
    pub fn own_folder(&mut self, relative: &str) -> Option<Folder> {
        let own = self.databases.first()?;
        self.store.folder(own, relative)
    }
}
