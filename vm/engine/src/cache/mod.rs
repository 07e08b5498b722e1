//! The code cache: arenas of fresh code, the directory, links, invalidation.

pub mod arena;
pub mod directory;
pub mod evict;
pub mod invalidate;
pub mod link;
pub mod page;
pub mod place;
pub mod views;

use alloc::vec::Vec;
use arena::Chunk;
use directory::Directory;
use link::Links;

/// Default limit of fresh code, in bytes.
pub const DEFAULT_LIMIT: u64 = 256 << 20;

/// All fresh code and what is known about it.
#[derive(Debug)]
pub struct Cache {
    /// Memory.
    pub chunks: Vec<Chunk>,
    /// Fragments by app address.
    pub directory: Directory,
    /// Exits linked so far, by target.
    pub links: Links,
    /// Flushes so far; see [`evict`].
    pub epoch: u64,
    /// Flushed code that some thread may still execute.
    pub retired: Vec<evict::Retired>,
    /// Memory for use after a flush.
    pub spare: Vec<Chunk>,
    /// Memory cannot be had again, so none is given back.
    pub recycles: bool,
    /// Bytes of arena before a flush.
    pub limit: u64,
}

impl Cache {
    /// An empty cache that flushes at `limit` bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self {
            chunks: Vec::new(),
            directory: Directory::default(),
            links: Links::default(),
            epoch: 1,
            retired: Vec::new(),
            spare: Vec::new(),
            recycles: false,
            limit,
        }
    }

    /// Bytes of arena in use.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.chunks.iter().map(|c| c.len).sum()
    }

    /// This process has forked, or is the child: see [`views`].
    pub fn seal(&mut self) {
        for chunk in &mut self.chunks {
            chunk.seal();
        }
    }
}
