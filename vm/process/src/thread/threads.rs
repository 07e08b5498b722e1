//! The list of live threads, of all processes that share this memory.

use super::resting::Resting;
use super::thread::Thread;
use alloc::vec::Vec;

/// The list of live threads. It is protected by the VM lock.
#[derive(Debug)]
pub struct Threads {
    live: Vec<*mut Thread>,
    /// Number of the next thread.
    next: u32,
    resting: Resting,
}

impl Threads {
    /// A list with only the first thread.
    #[must_use]
    pub fn new(first: *mut Thread) -> Self {
        Self {
            live: alloc::vec![first],
            next: 1,
            resting: Resting::default(),
        }
    }

    /// All live threads.
    pub fn all(&self) -> impl Iterator<Item = &Thread> + Clone {
        // SAFETY: a thread is in the list from before it runs to its end, and the lock is held.
        self.live.iter().map(|thread| unsafe { &**thread })
    }

    /// Addresses of the threads' structures.
    #[must_use]
    pub fn addresses(&self) -> &[*mut Thread] {
        &self.live
    }

    /// Number of live threads.
    #[must_use]
    #[allow(
        clippy::len_without_is_empty,
        reason = "the list is never empty: the caller is in it"
    )]
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// The number of the next thread.
    #[must_use]
    pub fn next_number(&self) -> u32 {
        self.next
    }

    /// Adds a thread, which has the next number.
    pub fn add(&mut self, thread: *mut Thread) {
        self.next += 1;
        self.live.push(thread);
    }

    /// Removes a thread.
    pub fn remove(&mut self, thread: *mut Thread) {
        self.live.retain(|other| *other != thread);
    }

    /// Removes a thread that ends; whether its memory is kept for a later one.
    pub fn rest(&mut self, thread: *mut Thread) -> bool {
        self.remove(thread);
        self.resting.keep(thread)
    }

    /// Memory of a thread that has ended and is gone.
    pub fn take_resting(&mut self) -> Option<*mut Thread> {
        self.resting.take()
    }

    /// Empties the list but for `thread`, the only thread of a forked child. If it was the only one of the
    /// parent, too, the list's page stays shared.
    pub fn only(&mut self, thread: *mut Thread) {
        self.resting.clear();
        if self.live != [thread] {
            self.live.clear();
            self.live.push(thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::thread;

    #[test]
    fn threads_are_numbered_in_the_order_in_which_they_are_added() {
        let [one, two, three] = [0, 1, 2].map(|n| core::ptr::from_mut(thread(n)));
        let mut all = Threads::new(one);
        assert_eq!(all.next_number(), 1);
        all.add(two);
        all.remove(two);
        assert_eq!(all.next_number(), 2, "no number is used twice");
        all.add(three);
        assert_eq!(all.addresses(), [one, three]);
        all.only(three);
        assert_eq!(all.all().map(|t| t.index).collect::<Vec<_>>(), [2]);
        assert_eq!([all.len(), all.next_number() as usize], [1, 3]);
    }
}
