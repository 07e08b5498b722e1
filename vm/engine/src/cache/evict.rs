//! Flushing the cache when it is full.
//!
//! Fresh code is frozen first, so nothing learned is lost. Then the directory,
//! the links and the indirect-branch table forget it; its memory is kept until
//! every thread has entered the VM once more, because until then a thread may be
//! inside, or be in a system call whose resume address lies there.

use super::Cache;
use super::arena::Chunk;
use super::directory::{Fragments, Fresh};
use crate::image::Images;
use crate::signal::translate::Maps;
use crate::thread::Thread;
use crate::vm::Vm;
use alloc::vec::Vec;
use ppin_abi::addr::ImageBase;

/// Code that was flushed and may still be executed.
#[derive(Debug)]
pub struct Retired {
    epoch: u64,
    chunks: Vec<Chunk>,
    fragments: Fragments,
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

    fn fragment(&self, addr: u64) -> Option<&Fresh> {
        let id = self.chunks.iter().find(|c| c.contains(addr))?.find(addr)?;
        self.fragments.get(id as usize).map(|fresh| &**fresh)
    }
}

impl Cache {
    /// Forgets all fresh code. Its chunks are freed by [`Cache::reclaim`].
    pub fn flush(&mut self) {
        core::mem::take(&mut self.links).undo(&mut self.chunks);
        self.epoch += 1;
        let mut fragments = core::mem::take(&mut self.directory).fragments;
        fragments.iter_mut().for_each(|fresh| fresh.keep_maps());
        self.retired.push(Retired {
            epoch: self.epoch,
            chunks: core::mem::replace(&mut self.chunks, core::mem::take(&mut self.spare)),
            fragments,
        });
    }

    fn retired_at(&self, addr: u64) -> Option<&Fresh> {
        self.retired.iter().find_map(|r| r.fragment(addr))
    }

    /// Entry of a retired fragment at `addr`.
    #[must_use]
    pub fn retired_hot(&self, addr: u64) -> Option<u64> {
        self.retired_at(addr).map(|f| f.space.hot)
    }

    /// Base of the image that a retired fragment at `addr` was made from.
    #[must_use]
    pub fn retired_base(&self, addr: u64, images: &Images) -> Option<ImageBase> {
        self.retired_at(addr).map(|f| images.get(f.image).base)
    }

    /// Maps of a retired fragment at `addr` (hot code).
    #[must_use]
    pub fn retired_maps(&self, addr: u64, images: &Images) -> Option<Maps> {
        self.retired_at(addr)
            .and_then(|f| f.maps(addr, images.get(f.image)))
    }

    /// Unmaps retired chunks that no thread can be in.
    pub fn reclaim(&mut self, threads: &[*mut Thread]) {
        // SAFETY: the list holds live threads, and the VM lock is held.
        let oldest = threads
            .iter()
            .map(|t| unsafe { (**t).epoch })
            .min()
            .unwrap_or(0);
        let (free, keep) = self.retired.drain(..).partition(|r| r.epoch <= oldest);
        self.retired = keep;
        let free: Vec<Retired> = free;
        for mut chunk in free.into_iter().flat_map(|r| r.chunks) {
            // Every thread has been in the VM since the chunk was forgotten.
            if self.recycles {
                chunk.reset();
                self.spare.push(chunk);
            } else {
                chunk.free();
            }
        }
    }
}

/// A unit mapped at `from .. to` has gone: nothing may lead there.
pub fn forget_unit(vm: &mut Vm, from: u64, to: u64) {
    vm.cache.forget(from, to);
}
