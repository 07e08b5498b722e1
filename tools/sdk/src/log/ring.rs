//! The events of one thread.
//!
//! ```text
//!   emptied            recorded
//!      |  events ...      |            both only grow; recorded - emptied <= EVENTS
//! ```
//! `recorded` is the owner's alone; `emptied` belongs to whoever holds `emptying`. A
//! word is read only below `recorded` (acquire, against the owner's release) and
//! written again only below `emptied + EVENTS` (acquire, against the reader's
//! release).

use super::sink::Sink;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use once_cell::race::OnceBox;
use ppin_api::ThreadId;

/// Events that a ring holds.
pub(super) const EVENTS: u64 = 2048;
/// How often to look whether another thread has finished emptying: about a second.
const PATIENCE: u32 = 1 << 24;
/// The owner of a ring that has none.
const NOBODY: u32 = 0;

pub(super) struct Ring<const WORDS: usize> {
    /// [`NOBODY`], or the thread's number plus one.
    owner: AtomicU32,
    emptying: AtomicBool,
    recorded: AtomicU64,
    emptied: AtomicU64,
    words: OnceBox<Vec<[AtomicU64; WORDS]>>,
}

impl<const WORDS: usize> Default for Ring<WORDS> {
    fn default() -> Self {
        Self {
            owner: AtomicU32::new(NOBODY),
            emptying: AtomicBool::new(false),
            recorded: AtomicU64::new(0),
            emptied: AtomicU64::new(0),
            words: OnceBox::new(),
        }
    }
}

fn owner(thread: ThreadId) -> u32 {
    thread.0.wrapping_add(1)
}

impl<const WORDS: usize> Ring<WORDS> {
    pub fn belongs_to(&self, thread: ThreadId) -> bool {
        self.owner.load(Ordering::Relaxed) == owner(thread)
    }

    /// Makes it the ring of `thread`, if it is nobody's.
    pub fn take(&self, thread: ThreadId) -> bool {
        let new = owner(thread);
        let taken = self
            .owner
            .compare_exchange(NOBODY, new, Ordering::AcqRel, Ordering::Relaxed);
        taken.is_ok()
    }

    /// By its owner, when it is empty.
    pub fn give_back(&self) {
        self.owner.store(NOBODY, Ordering::Release);
    }

    pub fn forget(&self) {
        self.emptying.store(false, Ordering::Relaxed);
        self.recorded.store(0, Ordering::Relaxed);
        self.emptied.store(0, Ordering::Relaxed);
        self.give_back();
    }

    pub fn len(&self) -> u64 {
        let emptied = self.emptied.load(Ordering::Acquire);
        self.recorded.load(Ordering::Acquire) - emptied
    }

    pub fn is_full(&self) -> bool {
        self.len() == EVENTS
    }

    /// By its owner. False if there is no room.
    pub fn push(&self, event: [u64; WORDS]) -> bool {
        if self.is_full() {
            return false;
        }
        let recorded = self.recorded.load(Ordering::Relaxed);
        for (cell, word) in self.cell(recorded).iter().zip(event) {
            cell.store(word, Ordering::Relaxed);
        }
        self.recorded.store(recorded + 1, Ordering::Release);
        true
    }

    fn cell(&self, position: u64) -> &[AtomicU64; WORDS] {
        let words = self.words.get_or_init(|| {
            let empty = || [const { AtomicU64::new(0) }; WORDS];
            Box::new((0..EVENTS).map(|_| empty()).collect())
        });
        &words[(position % EVENTS) as usize]
    }

    /// Passes what is recorded to `sink`. False if another thread has been doing so
    /// for too long.
    pub fn empty(&self, sink: Sink<'_, WORDS>) -> bool {
        if !self.begin() {
            return false;
        }
        let from = self.emptied.load(Ordering::Relaxed);
        let to = self.recorded.load(Ordering::Acquire);
        if from != to {
            // Events are in it: so the owner is still the one who recorded them.
            let owner = self.owner.load(Ordering::Relaxed);
            let mut events = (from..to).map(|position| self.event(position));
            sink(ThreadId(owner.wrapping_sub(1)), &mut events);
        }
        self.emptied.store(to, Ordering::Release);
        self.emptying.store(false, Ordering::Release);
        true
    }

    fn event(&self, position: u64) -> [u64; WORDS] {
        let cell = self.cell(position);
        core::array::from_fn(|n| cell[n].load(Ordering::Relaxed))
    }

    fn begin(&self) -> bool {
        for _ in 0..PATIENCE {
            if !self.emptying.swap(true, Ordering::Acquire) {
                return true;
            }
            core::hint::spin_loop();
        }
        false
    }
}
