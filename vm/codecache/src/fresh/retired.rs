//! Flushed code that may still be executed.
//!
//! Fresh code is frozen first, so nothing learned is lost. Then the directory,
//! the links and the indirect-branch table forget it; its memory is kept until
//! every thread has entered the VM once more, because until then a thread may be
//! inside, or be in a system call whose resume address lies there. Of threads that wait in the
//! kernel, and then enter the VM, only the chunks are kept that hold the records of their calls.

use super::arena::Chunk;
use super::directory::Fragments;
use super::fragment::Fresh;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Code that was flushed and may still be executed.
#[derive(Debug)]
pub(crate) struct Retired {
    pub(super) epoch: u64,
    chunks: Vec<Chunk>,
    /// Those of the chunks, by number.
    fragments: Vec<Option<Box<Fresh>>>,
}

impl Retired {
    /// What was in use up to the flush that began `epoch`.
    pub(super) fn new(epoch: u64, chunks: Vec<Chunk>, mut fragments: Fragments) -> Self {
        fragments.iter_mut().for_each(|fresh| fresh.keep_maps());
        Self {
            epoch,
            chunks,
            fragments: fragments.into_iter().map(Some).collect(),
        }
    }

    /// Drops all chunks but those that hold any of the `records`; returns them.
    pub(super) fn keep_only(&mut self, records: &[u64]) -> Vec<Chunk> {
        let holds = |chunk: &Chunk| records.iter().any(|record| chunk.contains(*record));
        let chunks = core::mem::take(&mut self.chunks).into_iter();
        let (kept, free): (Vec<_>, Vec<_>) = chunks.partition(holds);
        if !free.is_empty() {
            self.fragments.iter_mut().for_each(|fresh| {
                let hot = fresh.as_ref().map(|it| it.space().hot);
                if !hot.is_some_and(|hot| kept.iter().any(|chunk| chunk.contains(hot))) {
                    *fresh = None;
                }
            });
        }
        self.chunks = kept;
        free
    }

    /// Whether `addr` lies in it.
    pub(crate) fn contains(&self, addr: u64) -> bool {
        self.chunks.iter().any(|c| c.contains(addr))
    }

    /// Its memory.
    pub(crate) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    pub(super) fn fragment(&self, addr: u64) -> Option<&Fresh> {
        let id = self.chunks.iter().find(|c| c.contains(addr))?.find(addr)?;
        self.fragments.get(id.index())?.as_deref()
    }
}
