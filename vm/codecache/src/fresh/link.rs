//! Linking direct exits, and taking links back.
//!
//! An exit is linked by storing the target in its slot; where the code is fresh,
//! the branch itself is aimed at the target too. Both are aligned stores, so a
//! thread that runs through them sees the old target or the new one. An exit has at most
//! one link.

use super::arena::Chunk;
use crate::exit::KnownExit;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use hashbrown::HashMap;
use smallvec::SmallVec;

/// What a link replaced.
#[derive(Debug, Clone, Copy)]
struct Link {
    slot: u64,
    old_slot: u64,
    /// Address of the branch field and its old value, where patched.
    branch: Option<(u64, i32)>,
}

impl Link {
    fn undo(self, chunks: &mut [Chunk]) {
        if let Some((addr, old)) = self.branch
            && let Some(chunk) = chunks.iter_mut().find(|c| c.contains(addr))
        {
            field(chunk.writable(addr)).store(old, Ordering::Relaxed);
        }
        slot(self.slot).store(self.old_slot, Ordering::Relaxed);
    }
}

/// Links by the cache address they lead to.
#[derive(Debug, Default)]
pub(crate) struct Links(HashMap<u64, SmallVec<[Link; 1]>>);

fn slot(addr: u64) -> &'static AtomicU64 {
    // SAFETY: slots are aligned, mapped cells that live as long as their code, which
    // is not freed while it can be reached.
    unsafe { AtomicU64::from_ptr(addr as *mut u64) }
}

fn field(addr: u64) -> &'static AtomicI32 {
    // SAFETY: as for slots, in the view for writing; branch fields are 4-aligned by the
    // compiler.
    unsafe { AtomicI32::from_ptr(addr as *mut i32) }
}

impl Links {
    /// Links `exit` to cache address `entry`. Where its code is fresh and can be written to at no
    /// cost, the branch is patched.
    pub fn link(&mut self, chunks: &mut [Chunk], exit: &KnownExit, entry: u64) {
        if self.release(chunks, exit.slot, entry) {
            self.link_first(chunks, exit, entry);
        }
    }

    /// The same of an exit that is not linked.
    pub fn link_first(&mut self, chunks: &mut [Chunk], exit: &KnownExit, entry: u64) {
        let slot_addr = exit.slot;
        let own = chunks.iter_mut().find(|c| c.contains(exit.branch));
        let branch = own
            .filter(|chunk| !chunk.is_sealed())
            .and_then(|chunk| aim(chunk, exit.branch, entry));
        let link = Link {
            slot: slot_addr,
            old_slot: slot(slot_addr).load(Ordering::Relaxed),
            branch: branch.as_ref().map(|aim| (aim.addr, aim.old)),
        };
        // Known before it is made: who makes it may be killed in between.
        self.0.entry(entry).or_default().push(link);
        slot(slot_addr).store(entry, Ordering::Relaxed);
        if let Some(aim) = branch {
            field(aim.field).store(aim.new, Ordering::Relaxed);
        }
    }

    /// Makes sure that the exit of the slot at `slot_addr` is not linked: threads that have left
    /// by one exit all ask for it to be linked, and only what it was before the first is what
    /// it must become again. `false`: it is linked to `entry` as it should be.
    fn release(&mut self, chunks: &mut [Chunk], slot_addr: u64, entry: u64) -> bool {
        let target = slot(slot_addr).load(Ordering::Relaxed);
        let Some(links) = self.0.get_mut(&target) else {
            return true;
        };
        let Some(n) = links.iter().position(|link| link.slot == slot_addr) else {
            return true;
        };
        if target == entry {
            return false;
        }
        // Forgotten after it is undone, for the same reason as in `link`.
        links[n].undo(chunks);
        links.swap_remove(n);
        true
    }

    /// Undoes the link of the slot at `slot_addr`, by which threads get to `entry`, if there is one.
    pub fn take_back(&mut self, chunks: &mut [Chunk], slot_addr: u64, entry: u64) {
        let Some(links) = self.0.get_mut(&entry) else {
            return;
        };
        if let Some(n) = links.iter().position(|link| link.slot == slot_addr) {
            links[n].undo(chunks);
            links.swap_remove(n);
        }
    }

    /// Writes `value` to the slot at `slot_addr`, by which threads get to `entry`, for as long as they may.
    /// Nothing had been written to it since its code was made known.
    pub fn put(&mut self, slot_addr: u64, value: u64, entry: u64) {
        let link = Link {
            slot: slot_addr,
            old_slot: slot(slot_addr).load(Ordering::Relaxed),
            branch: None,
        };
        // Known before it is made, as in `link`.
        self.0.entry(entry).or_default().push(link);
        slot(slot_addr).store(value, Ordering::Release);
    }

    /// All links: the slot, and where it leads.
    pub fn all(&self) -> impl Iterator<Item = (u64, u64)> {
        let all = self.0.iter();
        all.flat_map(|(entry, links)| links.iter().map(|link| (link.slot, *entry)))
    }

    /// Undoes every link to `entry`.
    pub fn unlink(&mut self, chunks: &mut [Chunk], entry: u64) {
        for link in self.0.remove(&entry).unwrap_or_default() {
            link.undo(chunks);
        }
    }

    /// Undoes every link into `start .. end` (cache) from outside, and forgets those
    /// whose code lies there.
    pub fn forget(&mut self, chunks: &mut [Chunk], start: u64, end: u64) {
        let inside = |addr: u64| (start..end).contains(&addr);
        let links = &mut self.0;
        let targets: Vec<u64> = links.keys().copied().filter(|t| inside(*t)).collect();
        for links in links.values_mut() {
            links.retain(|l| !inside(l.slot));
        }
        for target in targets {
            self.unlink(chunks, target);
        }
    }

    /// Undoes every link.
    pub fn undo(mut self, chunks: &mut [Chunk]) {
        for link in self.0.drain().flat_map(|(_, links)| links) {
            link.undo(chunks);
        }
    }
}

/// A branch that is to lead elsewhere.
struct Aim {
    addr: u64,
    /// Where it is written to.
    field: u64,
    old: i32,
    new: i32,
}

/// How the rel32 at `addr` is aimed at `entry`; `None` beyond reach.
fn aim(chunk: &mut Chunk, addr: u64, entry: u64) -> Option<Aim> {
    let new = i32::try_from(entry.wrapping_sub(addr + 4) as i64).ok()?;
    let at = chunk.writable(addr);
    Some(Aim {
        addr,
        field: at,
        old: field(at).load(Ordering::Relaxed),
        new,
    })
}
