//! Keeping translations true to code that changes.
//!
//! Writable pages of app code are made read-only when something is translated from
//! them. A store to one faults: what was made from the page is forgotten and the
//! page is given back ([`store`]), in this order: once the page can be written to, no other
//! thread may find a translation of what it changes. Pages that keep being written
//! ([`super::page`] decides), and code that other mappings may change unseen, are *volatile*:
//! fragments compare their source with memory at every entry and behind every store
//! (`ppin_jit`'s `emit/compare.rs`). Where the source cannot be read from the cache, the VM compares at
//! every entry, and a fragment runs at most one store.

use super::evict;
use super::page::{Page, Store};
use crate::image::Region;
use crate::sys::mem::{self, PAGE, page_down};
use crate::sys::{peek, time};
use crate::syscall::table;
use crate::thread::reg;
use crate::vm::Vm;
use alloc::vec::Vec;
use hashbrown::{HashMap, HashSet};
use ppin_abi::context::Context;

/// See the module.
#[derive(Debug, Default)]
pub struct Guards {
    pages: HashMap<u64, Page>,
    /// Where the guarded ones lie, if there are any.
    span: Option<(u64, u64)>,
    /// Pages that emitted code has failed to read: the VM compares them.
    unreadable: HashSet<u64>,
    /// Pages given back and forgotten since: a store that met the guard may not have been
    /// told of yet.
    lifted: HashSet<u64>,
    /// Protection cannot be changed any more.
    given_up: bool,
}

impl Guards {
    /// Makes the pages of `pc .. pc + len` read-only, but those that are `live`.
    fn protect(&mut self, pc: u64, len: u64, live: bool) {
        for page in (page_down(pc)..pc + len.max(1)).step_by(PAGE as usize) {
            let before = self.pages.get(&page.wrapping_sub(PAGE)).copied();
            let state = self.pages.entry(page).or_insert_with(|| {
                let before = before.unwrap_or_default();
                Page::behind(&before, time::ticks())
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
            state.guard(time::ticks());
            let (low, high) = self.span.unwrap_or((page, page));
            self.span = Some((low.min(page), high.max(page + PAGE)));
            table::watch_fills();
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
        pages.find(volatile).map_or(len, |page| page - pc)
    }

    /// What is assumed of code at `pc` if it is volatile.
    #[must_use]
    pub fn care(&self, pc: u64, shared: bool) -> Context {
        if self.unreadable.contains(&page_down(pc)) {
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
    fn forget(&mut self, start: u64, end: u64) {
        self.lift(start, end);
        self.pages.retain(|page, _| !(start..end).contains(page));
        self.unreadable.retain(|page| !(start..end).contains(page));
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
    fn holds(&self, page: u64) -> bool {
        self.pages.get(&page).is_some_and(Page::is_guarded)
    }

    /// Gives the page of `addr` back because of a store there. `None` if we had not taken it.
    fn release(&mut self, addr: u64, store: Store) -> Option<u64> {
        let page = page_down(addr);
        let state = self.pages.get_mut(&page).filter(|p| p.is_guarded())?;
        state.release(store, time::ticks());
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
}

/// Pages of the longest instruction that may lie at `pc`.
fn pages_of_ins(pc: u64) -> [u64; 2] {
    const LONGEST: u64 = 15;
    [page_down(pc), page_down(pc.wrapping_add(LONGEST - 1))]
}

/// Code at `pc` is sought: if it has been volatile for long enough, what compares itself there
/// is forgotten, and it will be guarded.
pub fn come_back(vm: &mut Vm, pc: u64) {
    if !vm.guards.is_volatile(pc) {
        return;
    }
    let now = time::ticks();
    for page in pages_of_ins(pc) {
        let state = vm.guards.pages.get_mut(&page);
        if state.is_some_and(|state| state.come_back(now)) {
            fragments(vm, page, page + PAGE);
        }
    }
}

/// Sees to it that changes of `pc .. pc + len` are noticed.
pub fn watch(vm: &mut Vm, region: &Region, pc: u64, len: u64) {
    if region.writable && !region.shared {
        let live = is_live(vm, region);
        vm.guards.protect(pc, len, live);
    }
}

/// Whether the kernel may write to `region` at any moment, which no guard survives: it is
/// a stack, where libraries also keep what they have registered for the thread (its rseq
/// area, its id); or it holds these elsewhere.
fn is_live(vm: &Vm, region: &Region) -> bool {
    let inside = |addr: u64| (region.start..region.end).contains(&addr);
    // SAFETY: the list holds live threads, and the VM lock is held.
    let mut threads = vm.threads.iter().map(|t| unsafe { &**t });
    threads.any(|t| {
        let written = [t.rseq_call[0] as u64, t.cleared_at_exit];
        inside(t.get(reg::RSP)) || written.into_iter().any(inside)
    })
}

/// All pages that we hold read-only, ascending.
#[must_use]
pub fn guarded_pages(vm: &Vm) -> Vec<u64> {
    let mut pages: Vec<u64> = vm.guards.guarded(0, u64::MAX).collect();
    pages.sort_unstable();
    pages
}

/// Gives every page back, for the kernel to write to; `false` if we hold none.
pub fn release_all(vm: &mut Vm) -> bool {
    let pages = guarded_pages(vm);
    for page in &pages {
        fragments(vm, *page, page + PAGE);
        vm.guards.release(*page, Store::ToCode);
    }
    !pages.is_empty()
}

/// Guards can soon be neither set nor lifted: pages that the app may write to are
/// compared from here on.
pub fn give_up_guards(vm: &mut Vm) {
    vm.guards.given_up = true;
    release_all(vm);
}

/// Gives every page back that may be ours: a guard may have been left half made.
pub fn release_doubtful(vm: &mut Vm) {
    for page in vm.guards.pages.values_mut() {
        page.doubt();
    }
    for page in guarded_pages(vm) {
        vm.guards.release(page, Store::ToCode);
    }
}

/// The kernel is about to write to `start .. end`: pages there are given back.
pub fn give_back(vm: &mut Vm, start: u64, end: u64) {
    let pages: Vec<u64> = vm.guards.guarded(page_down(start), end).collect();
    for page in pages {
        fragments(vm, page, page + PAGE);
        vm.guards.release(page, Store::ToCode);
    }
}

/// The kernel writes, or has written, to `start .. end` on the app's behalf: pages there
/// are given back, and what was made from the bytes is forgotten.
pub fn written(vm: &mut Vm, start: u64, end: u64) {
    give_back(vm, start, end);
    fragments(vm, start, end);
}

/// The app stores to `addr` from cache address `pc`. Returns whether the fault was
/// our doing; the store can then be repeated.
pub fn store(vm: &mut Vm, addr: u64, pc: u64) -> bool {
    /// Bytes that an instruction stores, nearly always.
    const MOST: u64 = 64;
    let from = crate::signal::translate::spot(vm, pc).map(|s| page_down(s.pc.0));
    let same = from == Some(page_down(addr)) || from == Some(page_down(addr).wrapping_sub(PAGE));
    let behind = addr.saturating_add(MOST);
    let kind = if same {
        Store::FromHere
    } else if vm.cache.directory.is_source(addr, behind) {
        Store::ToCode
    } else {
        Store::Beside
    };
    let page = page_down(addr);
    if vm.guards.holds(page) {
        fragments(vm, page, page + PAGE);
    }
    if vm.guards.release(addr, kind).is_none() {
        // Another thread has been faster, and the store will succeed now; unless the app
        // has made it impossible otherwise than by the protection of the page. (What the app
        // itself protects is forgotten by the guards, and the store repeated once, for it may
        // have met the guard.)
        let known = vm.guards.pages.contains_key(&page);
        return known && peek::is_writable(addr) || vm.guards.lifted.remove(&page);
    }
    true
}

/// Emitted code that compares its source at `pc` could not read it at `addr`: the VM can,
/// or tells the app.
pub fn unreadable(vm: &mut Vm, pc: u64, addr: u64) {
    for page in [page_down(pc), page_down(addr)] {
        vm.guards.unreadable.insert(page);
        fragments(vm, page, page + PAGE);
    }
}

/// The app is about to make the protection of `start .. end` final: what is guarded there
/// is given back for good, since that could not be done later. Held until it has done so,
/// the VM's lock keeps new guards away.
pub fn unguard(vm: &mut Vm, start: u64, end: u64) {
    fragments(vm, start, end);
    vm.guards.forget(start, end);
}

/// Forgets what was made from app bytes in `start .. end`. Guards stand.
pub fn fragments(vm: &mut Vm, start: u64, end: u64) {
    vm.log(format_args!(
        "translations of {start:#x}-{end:#x} are not used any more"
    ));
    for id in vm.cache.directory.take(start, end) {
        crate::install::discard(vm, id);
    }
    let Vm {
        images, cache, ibl, ..
    } = vm;
    // Generated code is forgotten thousands of times: only units of code that lies there
    // are asked what they have.
    let there = |i: &&mut crate::image::Image| !i.gone && i.span.0 < end && start < i.span.1;
    for image in images.all.iter_mut().filter(there) {
        let base = image.base;
        for (pc, entry) in image
            .units
            .iter_mut()
            .flat_map(|u| u.kill(start, end, base))
        {
            cache.unlink(entry);
            ibl.remove_one(pc.0, entry);
        }
    }
}

/// The app has unmapped or replaced `start .. end`, or made it not executable.
pub fn range(vm: &mut Vm, start: u64, end: u64) {
    if vm.images.overlaps(start, end) || vm.images.is_parked(start, end) {
        code_gone(vm, start, end);
    }
    vm.guards.forget(start, end);
}

fn code_gone(vm: &mut Vm, start: u64, end: u64) {
    for id in leaving(vm, start, end) {
        crate::spool::freeze_image(vm, id);
    }
    fragments(vm, start, end);
    crate::rseq::unmapped(&mut vm.rseq, start, end);
    vm.images.remove(start, end);
    for id in vm.images.reap() {
        for (from, to) in crate::restore::release(vm.images.get_mut(id)) {
            evict::forget_unit(vm, from, to);
        }
    }
}

/// The app is about to set the protection of `start .. end` anew. Code of files is
/// forgotten if it is not to be executed any more; generated code is taken out of use.
pub fn protected(vm: &mut Vm, start: u64, end: u64, executable: bool) {
    if vm.images.has_files(start, end) {
        return if executable {
            range_changed(vm, start, end)
        } else {
            range(vm, start, end)
        };
    }
    fragments(vm, start, end);
    vm.guards.forget(start, end);
    vm.images.park(start, end);
}

/// The app has set the protection of `start .. end` anew, executable: bytes may have
/// changed, addresses have not.
fn range_changed(vm: &mut Vm, start: u64, end: u64) {
    fragments(vm, start, end);
    vm.guards.forget(start, end);
    vm.images.remove(start, end);
}

/// Images that lose all of their code with the range.
fn leaving(vm: &Vm, start: u64, end: u64) -> Vec<crate::image::ImageId> {
    let whole = |i: &crate::image::Image| {
        !i.gone && i.file.is_some() && i.span.0 >= start && i.span.1 <= end
    };
    let all = (0u32..).zip(&vm.images.all);
    all.filter(|(_, i)| whole(i))
        .map(|(n, _)| crate::image::ImageId(n))
        .collect()
}
