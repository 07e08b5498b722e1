//! The threads that live, of all processes in this memory.

use super::thread::Thread;
use alloc::vec::Vec;

/// See the module. Under the lock of the VM.
#[derive(Debug)]
pub struct Threads {
    live: Vec<*mut Thread>,
    /// Number of the next one.
    next: u32,
}

impl Threads {
    /// The first thread alone.
    #[must_use]
    pub fn new(first: *mut Thread) -> Self {
        Self {
            live: alloc::vec![first],
            next: 1,
        }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Thread> + Clone {
        // SAFETY: a thread is in the list from before it runs to its end, and the lock is held.
        self.live.iter().map(|thread| unsafe { &**thread })
    }

    /// Where their structures lie.
    #[must_use]
    pub fn addresses(&self) -> &[*mut Thread] {
        &self.live
    }

    /// How many there are.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "who asks is one of them")]
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// The number that the next one will have.
    #[must_use]
    pub fn next_number(&self) -> u32 {
        self.next
    }

    /// One more, with the next number.
    pub fn add(&mut self, thread: *mut Thread) {
        self.next += 1;
        self.live.push(thread);
    }

    /// One less.
    pub fn remove(&mut self, thread: *mut Thread) {
        self.live.retain(|other| *other != thread);
    }

    /// This is a forked child, whose only thread is `thread`.
    pub fn only(&mut self, thread: *mut Thread) {
        self.live.clear();
        self.live.push(thread);
    }
}
