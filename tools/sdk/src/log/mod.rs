//! A log of events, collected by thread and written in large pieces.
//!
//! Recording an event stores a few words in the thread's own ring; no lock is taken
//! and no system call made. A full ring is emptied by its thread; what is left, when
//! the thread ends ([`Log::end`]) or the process does ([`Log::flush`]). Events of one
//! thread keep their order; pieces of different threads follow each other as they
//! come. Rings of ended threads serve new ones.
//!
//! A forked child has copies of rings that other threads may just have been writing:
//! it must [`Log::forget`] them. What they hold is the parent's to write.

mod ring;
mod sink;

use crate::cells::Cells;
use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use ppin_api::ThreadId;
use ring::Ring;

pub use sink::Sink;

/// See the module. An event is `WORDS` words, which mean what the tool likes.
pub struct Log<const WORDS: usize> {
    /// By thread: number of its ring. Right only if that ring says so, too.
    ring_of: Cells<AtomicU32>,
    rings: Cells<Ring<WORDS>>,
    /// Rings that were ever used.
    made: AtomicU32,
    lost: AtomicU64,
}

impl<const WORDS: usize> Log<WORDS> {
    /// An empty log.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            ring_of: Cells::new(),
            rings: Cells::new(),
            made: AtomicU32::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// Records `event` of `thread`, which must be the one that calls this.
    pub fn push(&self, thread: ThreadId, event: [u64; WORDS], sink: Sink<'_, WORDS>) {
        let ring = self.ring(thread);
        if ring.is_full() {
            ring.empty(sink);
        }
        if !ring.push(event) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// `thread` ends: writes what it recorded last.
    pub fn end(&self, thread: ThreadId, sink: Sink<'_, WORDS>) {
        let ring = self
            .rings
            .get(self.ring_of.get(thread.0).load(Ordering::Relaxed));
        if ring.belongs_to(thread) && ring.empty(sink) {
            ring.give_back();
        }
    }

    /// The process ends: writes what all threads have recorded.
    pub fn flush(&self, sink: Sink<'_, WORDS>) {
        for number in 0..self.made.load(Ordering::Acquire) {
            let ring = self.rings.get(number);
            if !ring.empty(sink) {
                self.lost.fetch_add(ring.len(), Ordering::Relaxed);
            }
        }
    }

    /// Drops all that was recorded; in a forked child, while it has one thread.
    pub fn forget(&self) {
        for number in 0..self.made.load(Ordering::Acquire) {
            self.rings.get(number).forget();
        }
        self.lost.store(0, Ordering::Relaxed);
    }

    /// Events that were not recorded, because another thread was stuck writing.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn ring(&self, thread: ThreadId) -> &Ring<WORDS> {
        let number = self.ring_of.get(thread.0);
        let ring = self.rings.get(number.load(Ordering::Relaxed));
        if ring.belongs_to(thread) {
            return ring;
        }
        let mut free = (0..).filter(|&n| self.rings.get(n).take(thread));
        let free = free.next().expect("fewer threads than numbers");
        self.made.fetch_max(free + 1, Ordering::Release);
        number.store(free, Ordering::Relaxed);
        self.rings.get(free)
    }
}

impl<const WORDS: usize> Default for Log<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const WORDS: usize> fmt::Debug for Log<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log")
            .field("lost", &self.lost())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
