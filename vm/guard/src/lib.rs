//! Guards: pages of app code that we hold read-only, so that stores to them are noticed.
//!
//! Pages that keep being written ([`page`] decides), and code that other mappings may change
//! unseen, are *volatile*: fragments compare their source with memory at every entry and behind
//! every store. Where the source cannot be read from the cache, the VM compares at every entry,
//! and a fragment runs at most one store.

#![no_std]
extern crate alloc;

mod page;

use alloc::vec::Vec;
use hashbrown::{HashMap, HashSet};
use page::Page;
pub use page::{Store, Ticks};
use ppin_abi::context::Context;
use ppin_os::mem::{self, PAGE, page_down};
use ppin_os::peek;

/// See the module.
#[derive(Debug, Default)]
pub struct Guards {
    pages: HashMap<u64, Page>,
    /// Where the guarded ones lie, if there are any.
    span: Option<(u64, u64)>,
    /// Pages that emitted code has failed to read: the VM compares them.
    unreadable: HashSet<u64>,
    /// Heads of traces that stand so near to memory they store to that the VM compares them, too.
    near: HashSet<u64>,
    /// Pages given back and forgotten since: a store that met the guard may not have been
    /// told of yet.
    lifted: HashSet<u64>,
    /// Protection cannot be changed any more.
    given_up: bool,
}

impl Guards {
    /// Makes the pages of `pc .. pc + len` read-only, but those that are `live`. It is
    /// `now`, in ticks of the processor.
    pub fn protect(&mut self, pc: u64, len: u64, live: bool, now: Ticks) {
        for page in (page_down(pc)..pc + len.max(1)).step_by(PAGE as usize) {
            let before = self.pages.get(&page.wrapping_sub(PAGE)).copied();
            let state = self.pages.entry(page).or_insert_with(|| {
                let before = before.unwrap_or_default();
                Page::behind(&before, now)
            });
            if self.given_up || live {
                state.give_up();
            }
            if state.is_guarded() || state.is_volatile() {
                continue;
            }
            // SAFETY: the app's page; its stores fault and are put right.
            if unsafe { mem::protect(page, PAGE, mem::RX) }.is_err() {
                state.give_up();
                continue;
            }
            state.guard(now);
            let (low, high) = self.span.unwrap_or((page, page));
            self.span = Some((low.min(page), high.max(page + PAGE)));
        }
    }

    /// An address range that holds all guarded pages there have been.
    #[must_use]
    pub fn span(&self) -> Option<(u64, u64)> {
        self.span
    }

    /// Whether the instruction at `pc` may change at any time.
    #[must_use]
    pub fn is_volatile(&self, pc: u64) -> bool {
        let volatile = |page: u64| self.pages.get(&page).is_some_and(Page::is_volatile);
        !self.pages.is_empty() && pages_of_ins(pc).into_iter().any(volatile)
    }

    /// How many of the `len` bytes at `pc`, which are guarded, lie before a page that is not.
    #[must_use]
    pub fn steady(&self, pc: u64, len: u64) -> u64 {
        let volatile = |page: &u64| self.pages.get(page).is_some_and(Page::is_volatile);
        let mut pages = (page_down(pc)..pc + len).step_by(PAGE as usize);
        pages
            .find(volatile)
            .map_or(len, |page| page.saturating_sub(pc))
    }

    /// What is assumed of code at `pc` if it is volatile.
    #[must_use]
    pub fn assumed(&self, pc: u64, shared: bool) -> Context {
        if self.unreadable.contains(&page_down(pc)) || self.near.contains(&pc) {
            return Context::VOLATILE;
        }
        let compared = Context::VOLATILE.with(Context::COMPARED);
        let provisional = |page: u64| self.pages.get(&page).is_some_and(Page::is_provisional);
        if shared || !pages_of_ins(pc).into_iter().any(provisional) {
            return compared;
        }
        compared.with(Context::PROVISIONAL)
    }

    /// Gives the pages of the range back and forgets them: the app is about to map or
    /// protect it anew, in which it may fail, or to move it.
    pub fn forget(&mut self, start: u64, end: u64) {
        self.lift(start, end);
        self.pages.retain(|page, _| !(start..end).contains(page));
        self.unreadable.retain(|page| !(start..end).contains(page));
        self.near.retain(|pc| !(start..end).contains(pc));
    }

    fn lift(&mut self, start: u64, end: u64) {
        const MOST: usize = 4096;
        let pages: Vec<u64> = self.guarded(start, end).collect();
        if self.lifted.len() > MOST {
            self.lifted.clear();
        }
        for page in pages {
            // SAFETY: this is what the app had; what is not mapped any more is nobody's.
            let _ = unsafe { mem::protect(page, PAGE, mem::RWX) };
            self.lifted.insert(page);
        }
    }

    /// Whether `page` is read-only because of us.
    pub fn holds(&self, page: u64) -> bool {
        self.pages.get(&page).is_some_and(Page::is_guarded)
    }

    /// Gives the page of `addr` back because of a store there `now`. `None` if we had not taken it.
    pub fn release(&mut self, addr: u64, store: Store, now: Ticks) -> Option<u64> {
        let page = page_down(addr);
        let state = self.pages.get_mut(&page).filter(|p| p.is_guarded())?;
        state.release(store, now);
        // SAFETY: this is what the app had.
        unsafe { mem::protect(page, PAGE, mem::RWX) }.ok()?;
        Some(page)
    }

    /// Pages in the range that we hold read-only.
    pub fn guarded(&self, start: u64, end: u64) -> impl Iterator<Item = u64> {
        self.pages
            .iter()
            .filter(move |(p, s)| s.is_guarded() && (start..end).contains(*p))
            .map(|(p, _)| *p)
    }

    /// All pages that are held read-only, ascending.
    #[must_use]
    pub fn pages(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.guarded(0, u64::MAX).collect();
        pages.sort_unstable();
        pages
    }

    /// Guards can soon be neither set nor lifted: from here on none is set.
    pub fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Any page that is known may be held: a guard may have been left half made.
    pub fn doubt(&mut self) {
        self.pages.values_mut().for_each(Page::doubt);
    }

    /// Pages of the instruction at `pc` that have been volatile for long enough and will be
    /// guarded again, at `now` (ticks).
    pub fn come_back(&mut self, pc: u64, now: Ticks) -> impl Iterator<Item = u64> {
        pages_of_ins(pc).into_iter().filter(move |page| {
            let state = self.pages.get_mut(page);
            state.is_some_and(|state| state.come_back(now))
        })
    }

    /// Emitted code has failed to read `page`: the VM compares it.
    pub fn is_unreadable(&mut self, page: u64) {
        self.unreadable.insert(page);
    }

    /// The trace that begins at `pc` may store to its own source: the VM compares it.
    pub fn is_near(&mut self, pc: u64) {
        self.near.insert(pc);
    }

    /// A store to `addr`, whose page is not held, has faulted: whether it met a guard that
    /// another thread has lifted since, so that it can be repeated. (The app may have made it
    /// impossible otherwise than by the protection of the page. What the app itself protects is
    /// forgotten by the guards, and the store repeated once, for it may have met the guard.)
    pub fn was_lifted(&mut self, addr: u64) -> bool {
        let page = page_down(addr);
        let known = self.pages.contains_key(&page);
        known && peek::is_writable(addr) || self.lifted.remove(&page)
    }
}

/// Pages of the longest instruction that may lie at `pc`.
fn pages_of_ins(pc: u64) -> [u64; 2] {
    const LONGEST: u64 = 15;
    [page_down(pc), page_down(pc.wrapping_add(LONGEST - 1))]
}

#[cfg(test)]
mod tests;
