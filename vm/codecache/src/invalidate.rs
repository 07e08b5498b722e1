//! Keeping translations true to code that changes.
//!
//! Writable pages of app code are made read-only when something is translated from them
//! ([`ppin_guard`]). A store to one faults: what was made from the page is taken out of use and
//! the page is given back ([`CodeCache::store`]), in this order: once the page can be written to,
//! no other thread may find a translation of what it changes. What has died is returned, so that
//! the caller can see to what else depends on it.

use crate::cache::CodeCache;
use crate::fresh::FragmentId;
use alloc::vec::Vec;
use ppin_abi::addr::AppPc;
use ppin_guard::Store;
use ppin_images::{Image, ImageId, Region};
use ppin_os::mem::{PAGE, page_down};
use ppin_os::time;
use smallvec::SmallVec;

/// Entries of fresh fragments that were taken out of use.
pub type Dead = Vec<u64>;

impl CodeCache {
    /// Code at `pc` is sought: if it has been volatile for long enough, what compares itself
    /// there is taken out of use, and it will be guarded.
    pub fn come_back(&mut self, pc: u64) -> Dead {
        let mut dead = Dead::new();
        if self.guards.is_volatile(pc) {
            let pages: Vec<u64> = self.guards.come_back(pc, time::ticks()).collect();
            for page in pages {
                dead.extend(self.kill_made_from(page, page + PAGE));
            }
        }
        dead
    }

    /// Sees to it that changes of `pc .. pc + len` are noticed. `live`: the kernel may write to
    /// the region at any moment, which no guard survives.
    pub fn watch(&mut self, region: &Region, pc: u64, len: u64, live: bool) {
        if region.writable && !region.shared {
            self.guards.protect(pc, len, live, time::ticks());
        }
    }

    /// Gives every page back, for the kernel to write to.
    pub fn release_all(&mut self) -> Dead {
        let pages = self.guards.pages();
        self.release(&pages)
    }

    fn release(&mut self, pages: &[u64]) -> Dead {
        let mut dead = Dead::new();
        for page in pages {
            dead.extend(self.kill_made_from(*page, page + PAGE));
            self.guards.release(*page, Store::ToCode, time::ticks());
        }
        dead
    }

    /// Guards can soon be neither set nor lifted: pages that the app may write to are compared
    /// from here on.
    pub fn give_up_guards(&mut self) -> Dead {
        self.guards.give_up();
        self.release_all()
    }

    /// Gives every page back that may be ours: a guard may have been left half made.
    pub(crate) fn release_doubtful(&mut self) {
        self.guards.doubt();
        for page in self.guards.pages() {
            self.guards.release(page, Store::ToCode, time::ticks());
        }
    }

    /// The kernel is about to write to `start .. end`: pages there are given back.
    pub fn give_back(&mut self, start: u64, end: u64) -> Dead {
        let pages: Vec<u64> = self.guards.guarded(page_down(start), end).collect();
        self.release(&pages)
    }

    /// The kernel writes, or has written, to `start .. end` on the app's behalf: pages there
    /// are given back, and what was made from the bytes is taken out of use.
    pub fn written(&mut self, start: u64, end: u64) -> Dead {
        self.cells_changed(start, end);
        let mut dead = self.give_back(start, end);
        dead.extend(self.kill_made_from(start, end));
        dead
    }

    /// The app stores to `addr` from cache address `pc`. Returns whether the fault was our
    /// doing (the store can then be repeated), and what has died.
    pub fn store(&mut self, addr: u64, pc: u64) -> (bool, Dead) {
        let (kind, page) = (self.kind_of_store(addr, pc), page_down(addr));
        let dead = match self.guards.holds(page) {
            true => self.kill_made_from(page, page + PAGE),
            false => Dead::new(),
        };
        // `None`: another thread has been faster, and the store will succeed now.
        let ours = self.guards.release(addr, kind, time::ticks()).is_some()
            || self.guards.was_lifted(addr);
        (ours, dead)
    }

    fn kind_of_store(&self, addr: u64, pc: u64) -> Store {
        /// Bytes that an instruction stores, nearly always.
        const MOST: u64 = 64;
        let from = self.spot(pc).map(|s| page_down(s.pc.0));
        let page = page_down(addr);
        if from == Some(page) || from == Some(page.wrapping_sub(PAGE)) {
            Store::FromHere
        } else if self
            .fresh
            .directory
            .is_source(addr, addr.saturating_add(MOST))
        {
            Store::ToCode
        } else {
            Store::Beside
        }
    }

    /// Emitted code that compares its source at `pc` could not read it at `addr`: the VM can,
    /// or tells the app.
    pub fn unreadable(&mut self, pc: u64, addr: u64) -> Dead {
        let mut dead = Dead::new();
        for page in [page_down(pc), page_down(addr)] {
            self.guards.is_unreadable(page);
            dead.extend(self.kill_made_from(page, page + PAGE));
        }
        dead
    }

    /// A trace that begins at `pc` and compares its source by itself may change it behind its back: the VM
    /// compares it from now on.
    pub fn may_meet_itself(&mut self, pc: AppPc) {
        self.guards.is_near(pc.0);
    }

    /// The app is about to set the protection of `start .. end` anew, or to make it final: what
    /// is guarded there is given back, since that could not be done later. Held until it has
    /// done so, the lock keeps new guards away.
    pub fn unguard(&mut self, start: u64, end: u64) -> Dead {
        let dead = self.kill_made_from(start, end);
        self.guards.forget(start, end);
        dead
    }

    /// Takes out of use what was made from app bytes in `start .. end`. Guards stand.
    pub fn kill_made_from(&mut self, start: u64, end: u64) -> Dead {
        self.journal.note(format_args!(
            "translations of {start:#x}-{end:#x} are not used any more"
        ));
        self.sealed.await_nothing();
        let ids = self.fresh.directory.take(start, end);
        let dead = ids.into_iter().map(|id| self.discard(id)).collect();
        for (pc, entry) in self.units.kill(&self.images, start, end) {
            self.fresh.unlink(entry);
            self.ibl.remove_one(pc.0, entry);
        }
        dead
    }

    /// Takes fragment `id` out of the directory, the links and the indirect-branch table, and lets
    /// no return come back into it; its entry.
    pub fn discard(&mut self, id: FragmentId) -> u64 {
        let fresh = self.fragment(id);
        let (pc, hot) = (fresh.pc().0, fresh.entry().0);
        fresh.landings().shut();
        let entrances: SmallVec<[u64; 1]> = fresh.entrances().collect();
        entrances.into_iter().for_each(|at| self.fresh.unlink(at));
        self.ibl.remove_one(pc, hot);
        self.fresh.directory.kill(id);
        hot
    }

    /// Whether `start .. end` has code that is known.
    #[must_use]
    pub fn has_code(&self, start: u64, end: u64) -> bool {
        self.images.overlaps(start, end) || self.images.is_parked(start, end)
    }

    /// Images that lose all of their code with the range.
    #[must_use]
    pub fn leaving(&self, start: u64, end: u64) -> Vec<ImageId> {
        let whole = |i: &Image| !i.gone && i.file.is_some() && i.span.0 >= start && i.span.1 <= end;
        let all = self.images.iter().filter(|(_, image)| whole(image));
        all.map(|(id, _)| id).collect()
    }

    /// The app has unmapped or replaced `start .. end`, or made it not executable. (What is to
    /// be saved of [`CodeCache::leaving`] images has been.)
    pub fn gone(&mut self, start: u64, end: u64) -> Dead {
        self.unseal_cells(start, end);
        let mut dead = Dead::new();
        if self.has_code(start, end) {
            dead = self.kill_made_from(start, end);
            self.images.remove(start, end);
            for id in self.images.reap() {
                self.keep_bundles(id);
                for (from, to) in self.units.release(id) {
                    self.fresh.forget(from, to);
                    self.sealed.forget(from, to);
                    self.ibl.forget_returns(from, to);
                }
            }
        }
        self.guards.forget(start, end);
        dead
    }

    /// The app is about to set the protection of `start .. end` anew, executable. Code of files:
    /// bytes may have changed, addresses have not. Generated code is taken out of use.
    pub fn protected(&mut self, start: u64, end: u64) -> Dead {
        let dead = self.unguard(start, end);
        if self.images.has_files(start, end) {
            self.images.remove(start, end);
        } else {
            self.images.park(start, end);
        }
        dead
    }
}

#[cfg(test)]
mod tests;
