//! Memory for fresh code.
//!
//! A chunk is one mapping with three bump allocators, so that hot code stays dense
//! and stubs and slots are in reach:
//!
//! ```text
//! base        hot  (7/16)   |   cold (7/16)   |   slots (1/8)        base + len
//! ```
//! Code is executed in one view and written in another ([`super::views`]); slots are
//! plain private memory.

use super::ahead::Ahead;
use super::fragment::FragmentId;
use super::starts::Starts;
use super::views::Views;
use core::ops::Range;
use ppin_abi::record::stub;
use ppin_os::{Errno, mem, place};
use ppin_relocator::{Fragment, Start};

/// Chunks are multiples of this, so that their parts are whole pages.
pub(crate) const GRAIN: u64 = 16 * mem::PAGE;

/// Makes views of a given length at a given address.
pub(crate) type MakeViews = fn(u64, u64) -> ppin_os::Result<Views>;

/// A bump allocator over addresses.
#[derive(Debug, Clone, Copy)]
struct Bump {
    next: u64,
    end: u64,
}

impl Bump {
    fn take(&mut self, len: usize, start: Start) -> Option<u64> {
        let (at, len) = (start.from(self.next), len as u64);
        let next = at.checked_add(len)?;
        (next <= self.end).then(|| {
            self.next = next;
            at
        })
    }
}

/// Hot code, cold code and slots of a chunk.
#[derive(Debug, Clone, Copy)]
struct Parts {
    hot: Bump,
    cold: Bump,
    slots: Bump,
    /// Fragments so far at which threads arrive by indirect branches.
    arrivals: usize,
}

impl Parts {
    fn new(base: u64, len: u64) -> Self {
        let (cold, slots, end) = (base + len / 16 * 7, base + len / 16 * 14, base + len);
        let part = |next, end| Bump { next, end };
        Self {
            hot: part(base, cold),
            cold: part(cold, slots),
            slots: part(slots, end),
            arrivals: 0,
        }
    }

    /// These without the room for `fragment`, and that; `None` if it does not fit.
    fn after(mut self, fragment: &Fragment) -> Option<(Self, Space)> {
        let stubs = stub::room(fragment.exits.len());
        let hot = fragment.start(self.arrivals);
        let hot = self.hot.take(fragment.hot.len(), hot)?;
        let stubs_and_cold = stubs as usize + fragment.cold.len();
        let first = self.cold.take(stubs_and_cold, Start::COLD)?;
        let space = Space {
            hot,
            stubs: first,
            cold: first + u64::from(stubs),
            slots: self.slots.take(8 * fragment.all_slots(), Start::SLOTS)?,
        };
        self.arrivals += usize::from(fragment.entry > 0);
        Some((self, space))
    }
}

/// Addresses of a fragment's sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// Hot section.
    pub hot: u64,
    /// Stubs of its exits.
    pub stubs: u64,
    /// Cold section, behind them.
    pub cold: u64,
    /// First slot.
    pub slots: u64,
}

/// One stretch of fresh code.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// First address.
    base: u64,
    /// Length in bytes.
    len: u64,
    views: Views,
    parts: Parts,
    hot_starts: Starts,
    cold_starts: Starts,
    ahead: [Ahead; 2],
}

impl Chunk {
    /// Maps a chunk of `len` bytes within reach of app addresses `start .. end`
    /// of an image based at `base`, its code in such `views`.
    ///
    /// # Errors
    /// No memory, or no free place within reach.
    pub fn near(
        base: u64,
        (start, end): (u64, u64),
        len: u64,
        salt: u64,
        views: MakeViews,
    ) -> ppin_os::Result<Self> {
        let reach = |addr: &u64| place::reaches(*addr, len, start, end);
        let usual = place::candidates(base, len, place::NEAREST + salt).filter(reach);
        let others = core::iter::once_with(|| place::gaps(start, end, len)).flatten();
        for addr in usual.chain(others) {
            match Self::at(addr, len, views) {
                Ok(chunk) => return Ok(chunk),
                Err(Errno::EEXIST) => {}
                Err(e) => return Err(e),
            }
        }
        Err(Errno::ENOMEM)
    }

    fn at(base: u64, len: u64, views: MakeViews) -> ppin_os::Result<Self> {
        let parts = Parts::new(base, len);
        let slots = parts.slots.next;
        let views = views(base, slots - base)?;
        if let Err(e) = mem::map_anon_at(slots, base + len - slots, mem::RW) {
            views.free();
            return Err(e);
        }
        Ok(Self {
            base,
            len,
            views,
            parts,
            hot_starts: Starts::new(base),
            cold_starts: Starts::new(parts.hot.end),
            ahead: [parts.hot, parts.cold].map(|part| Ahead::new(part.next, part.end)),
        })
    }

    /// Empties it; nothing runs there any more.
    pub fn reset(&mut self) {
        self.parts = Parts::new(self.base, self.len);
        self.hot_starts.clear();
        self.cold_starts.clear();
    }

    /// Where the code byte executed at `addr` is written to.
    pub fn writable(&mut self, addr: u64) -> u64 {
        let used = self.used();
        self.views.writable(addr, &used).unwrap_or_else(|e| {
            ppin_os::report::give_up(format_args!("no memory to copy code after a fork ({e})"))
        })
    }

    /// Code must be copied before it can be written to.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.views.is_sealed()
    }

    /// This process has forked, or is the child.
    pub fn seal(&mut self) {
        self.views.seal();
    }

    /// No calls can be made later on: the code must be writable, come what may. (Where
    /// the kernel does not allow that, it will be only as long as nobody forks.)
    pub fn prepare_for_silence(&mut self) {
        let used = self.used();
        let _ = self.views.unify(&used);
    }

    /// Gives the memory back.
    pub fn free(&self) {
        self.views.free();
        // SAFETY: nothing runs here any more that could read the slots.
        let _ = unsafe {
            mem::unmap(
                self.parts.cold.end,
                self.base + self.len - self.parts.cold.end,
            )
        };
    }

    fn used(&self) -> [Range<u64>; 2] {
        [
            self.base..self.parts.hot.next,
            self.cold_start()..self.parts.cold.next,
        ]
    }

    /// Start and end.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        (self.base, self.base + self.len)
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether its code reaches all of `start .. end` (app).
    #[must_use]
    pub fn reaches(&self, start: u64, end: u64) -> bool {
        place::reaches(self.base, self.len, start, end)
    }

    /// Whether `addr` lies in this chunk.
    #[must_use]
    pub fn contains(&self, addr: u64) -> bool {
        addr.wrapping_sub(self.base) < self.len
    }

    /// The code that lies there.
    ///
    /// # Panics
    /// Not all of it is code of this chunk.
    #[must_use]
    pub fn code(&self, at: Range<u64>) -> &[u8] {
        let [hot, cold] = self.used();
        let inside = |used: Range<u64>| used.start <= at.start && at.end <= used.end;
        assert!(at.start <= at.end && (inside(hot) || inside(cold)));
        // SAFETY: code is mapped readable as long as there is the chunk, and written to by way of
        // `&mut self` only.
        unsafe { core::slice::from_raw_parts(at.start as *const u8, (at.end - at.start) as usize) }
    }

    /// Room for `fragment`, or `None` if the chunk is full.
    pub fn take(&mut self, fragment: &Fragment) -> Option<Space> {
        let (parts, space) = self.parts.after(fragment)?;
        self.parts = parts;
        self.ask_ahead();
        Some(space)
    }

    /// Asks for the pages that are to be written to.
    fn ask_ahead(&mut self) {
        let used = [self.parts.hot.next, self.parts.cold.next];
        for (ahead, used) in self.ahead.iter_mut().zip(used) {
            if let Some(range) = ahead.next(used)
                && !self.views.is_sealed()
            {
                let range = self.views.written(&range);
                mem::ask_for(range.start, range.end);
            }
        }
    }

    /// Whether there is room for `fragment`.
    pub fn fits(&self, fragment: &Fragment) -> bool {
        self.parts.after(fragment).is_some()
    }

    /// Fragment `id` lies at `space`, which was taken last.
    pub fn note(&mut self, space: Space, id: FragmentId) {
        self.hot_starts.push(space.hot, id);
        self.cold_starts.push(space.stubs, id);
    }

    /// Number of the fragment whose hot or cold section holds `addr`.
    #[must_use]
    pub fn find(&self, addr: u64) -> Option<FragmentId> {
        let starts = if addr < self.cold_start() {
            &self.hot_starts
        } else {
            &self.cold_starts
        };
        starts.find(addr)
    }

    fn cold_start(&self) -> u64 {
        self.parts.hot.end
    }
}

#[cfg(test)]
mod tests;
