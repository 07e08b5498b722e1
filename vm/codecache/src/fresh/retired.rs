//! Flushed code that may still be executed.
//!
//! Fresh code is frozen first, so nothing learned is lost. Then the directory,
//! the links and the indirect-branch table forget it; its memory is kept until
//! every thread has entered the VM once more, because until then a thread may be
//! inside, or be in a system call whose resume address lies there.

use super::arena::Chunk;
use super::directory::{Fragments, Fresh};
use alloc::vec::Vec;

/// Code that was flushed and may still be executed.
#[derive(Debug)]
pub struct Retired {
    pub(super) epoch: u64,
    pub(super) chunks: Vec<Chunk>,
    pub(super) fragments: Fragments,
}

impl Retired {
    /// Whether `addr` lies in it.
    #[must_use]
    pub fn contains(&self, addr: u64) -> bool {
        self.chunks.iter().any(|c| c.contains(addr))
    }

    /// Its memory.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    pub(super) fn fragment(&self, addr: u64) -> Option<&Fresh> {
        let id = self.chunks.iter().find(|c| c.contains(addr))?.find(addr)?;
        self.fragments.get(id as usize).map(|fresh| &**fresh)
    }
}
