//! Code translated by this process: its memory, its directory, its links.
//!
//! A full cache is flushed: the directory, the links and the indirect-branch table forget it
//! (what was learned has been saved before). Its memory is kept until every thread has entered
//! the VM once more, because until then a thread may be inside, or be in a system call whose
//! resume address lies there. Threads that wait in the kernel can be sent to the VM instead
//! ([`FreshCode::reclaim`]).

mod ahead;
pub(crate) mod arena;
pub(crate) mod directory;
mod fragment;
mod link;
mod retired;
mod sources;
mod starts;
pub(crate) mod views;

use crate::exit::KnownExit;
use crate::spot::Maps;
use alloc::vec::Vec;
use arena::Chunk;
use core::ops::Range;
use directory::Directory;
pub use fragment::{FragmentId, Fresh, Kind, Reached};
use link::Links;
use ppin_abi::addr::ImageBase;
use ppin_images::Images;
use ppin_relocator::FragmentRef;
pub(crate) use retired::Retired;

/// Default limit of fresh code, in bytes.
pub const DEFAULT_LIMIT: u64 = 256 << 20;

/// All fresh code and what is known about it.
#[derive(Debug)]
pub(crate) struct FreshCode {
    /// Memory.
    pub(crate) chunks: Vec<Chunk>,
    /// Fragments by app address.
    pub(crate) directory: Directory,
    /// Exits linked so far, by target.
    links: Links,
    /// Jumps through cells that have been predicted: slots, and where the jumps are.
    predicted: Vec<(u64, u64)>,
    /// Flushes so far; see the module.
    pub(crate) epoch: u64,
    /// Flushed code that some thread may still execute.
    pub(crate) retired: Vec<Retired>,
    /// Most bytes of it so far.
    pub(crate) most_retired: u64,
    /// Memory for use after a flush.
    pub(crate) spare: Vec<Chunk>,
    /// Memory cannot be had again, so none is given back.
    pub(crate) recycles: bool,
    /// Bytes of arena before a flush.
    pub(crate) limit: u64,
}

impl FreshCode {
    /// An empty cache that flushes at `limit` bytes.
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            chunks: Vec::new(),
            directory: Directory::default(),
            links: Links::default(),
            predicted: Vec::new(),
            epoch: 1,
            retired: Vec::new(),
            most_retired: 0,
            spare: Vec::new(),
            recycles: false,
            limit,
        }
    }

    /// Bytes of arena in use.
    pub(crate) fn size(&self) -> u64 {
        self.chunks.iter().map(Chunk::len).sum()
    }

    /// This process has forked, or is the child: see [`views`].
    pub(crate) fn seal(&mut self) {
        for chunk in &mut self.chunks {
            chunk.seal();
        }
    }

    /// Fragment `id` with its sections as they lie in the cache. (Relocated fields hold what they do there.)
    pub(crate) fn whole(&self, id: FragmentId) -> FragmentRef<'_> {
        let fresh = self.directory.fragment(id);
        let code = |at: Range<u64>| {
            let chunk = self.chunks.iter().find(|chunk| chunk.contains(at.start));
            chunk.expect("fresh code lies in a chunk").code(at)
        };
        let [hot, cold] = fresh.sections().map(code);
        FragmentRef {
            hot,
            cold,
            ..FragmentRef::from(fresh.code())
        }
    }

    /// Links `exit` to cache address `entry`.
    pub(crate) fn link(&mut self, exit: &KnownExit, entry: u64) {
        self.links.link(&mut self.chunks, exit, entry);
    }

    /// The same of an exit that is not linked.
    pub(crate) fn link_first(&mut self, exit: &KnownExit, entry: u64) {
        self.links.link_first(&mut self.chunks, exit, entry);
    }

    /// Links the exit of persisted code whose slot lies at `slot`, as an earlier run has: its slot was rebased
    /// just now.
    pub(crate) fn restore_link(&mut self, slot: u64, entry: u64) {
        self.links.put(slot, entry, entry);
    }

    /// Lets the jump whose prediction lies in the slot at `slot` go to cache address `entry` for `value`.
    pub(crate) fn predict(&mut self, slot: u64, value: u64, entry: u64) {
        self.links.put(slot, value, entry);
    }

    /// The jump at cache address `site`, in fresh code, is predicted by the slot at `slot`.
    pub(crate) fn note_predicted(&mut self, slot: u64, site: u64) {
        self.predicted.push((slot, site));
    }

    /// Jumps of fresh code that have been predicted: their slots, and where they are.
    pub(crate) fn predicted(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.predicted.iter().copied()
    }

    /// All links: addresses of the slot and of the entry that it leads to.
    pub(crate) fn links(&self) -> impl Iterator<Item = (u64, u64)> {
        self.links.all()
    }

    /// Undoes the link of the slot at `slot`, by which threads get to `entry`, if there is one.
    pub(crate) fn take_back(&mut self, slot: u64, entry: u64) {
        self.links.take_back(&mut self.chunks, slot, entry);
    }

    /// Undoes every link to `entry`.
    pub(crate) fn unlink(&mut self, entry: u64) {
        self.links.unlink(&mut self.chunks, entry);
    }

    /// A unit mapped at `from .. to` has gone: nothing leads there any more.
    pub(crate) fn forget(&mut self, from: u64, to: u64) {
        self.links.forget(&mut self.chunks, from, to);
    }

    /// Forgets all fresh code. Its chunks are freed by [`FreshCode::reclaim`].
    pub(crate) fn flush(&mut self) {
        core::mem::take(&mut self.links).undo(&mut self.chunks);
        self.predicted.clear();
        self.epoch += 1;
        let chunks = core::mem::replace(&mut self.chunks, core::mem::take(&mut self.spare));
        let fragments = core::mem::take(&mut self.directory).into_fragments();
        self.retired
            .push(Retired::new(self.epoch, chunks, fragments));
        let kept = self.retired.iter().flat_map(|it| it.chunks());
        self.most_retired = self.most_retired.max(kept.map(Chunk::len).sum());
    }

    /// A retired fragment that holds `addr`.
    pub(crate) fn retired_at(&self, addr: u64) -> Option<&Fresh> {
        self.retired.iter().find_map(|r| r.fragment(addr))
    }

    /// Entry of a retired fragment at `addr`.
    pub(crate) fn retired_hot(&self, addr: u64) -> Option<u64> {
        self.retired_at(addr).map(|f| f.entry().0)
    }

    /// Base of the image that a retired fragment at `addr` was made from.
    pub(crate) fn retired_base(&self, addr: u64, images: &Images) -> Option<ImageBase> {
        self.retired_at(addr).map(|f| images.get(f.image()).base)
    }

    /// Maps of a retired fragment at `addr` (hot code).
    pub(crate) fn retired_maps(&self, addr: u64, images: &Images) -> Option<Maps> {
        self.retired_at(addr)
            .and_then(|f| f.maps(addr, images.get(f.image()).counters))
    }

    /// Unmaps retired chunks that no thread can be in: each has known epoch `oldest` or a later one.
    /// Those that hold any of the `records` are kept.
    pub(crate) fn reclaim(&mut self, oldest: u64, records: &[u64]) {
        let known = self.retired.iter_mut().filter(|it| it.epoch <= oldest);
        let free: Vec<Chunk> = known.flat_map(|it| it.keep_only(records)).collect();
        self.retired.retain(|it| !it.chunks().is_empty());
        for mut chunk in free {
            // No thread has been there since the chunk was forgotten, or can come there.
            if self.recycles {
                chunk.reset();
                self.spare.push(chunk);
            } else {
                chunk.free();
            }
        }
    }
}

#[cfg(test)]
mod tests;
