//! Sleeping locks on a futex that record their holder. One of them guards the VM.
//!
//! Processes may share this memory without being threads of one another (clone(2) with `CLONE_VM`),
//! and each may be killed at any instruction, while it holds a lock. As long as there are such
//! processes, the word of a lock holds the holder's thread id. A thread that has waited for a while
//! checks whether the holder is gone, and if so takes the lock over.
//!
//! Most programs have one thread, or begin with one. Until a second one begins, a lock is a word that
//! is written as any other: an atomic instruction takes as long as the rest of a short allocation.

use crate::futex::{futex_wait, futex_wake, futex_wake_all};
use crate::{c, copied, proc, report};
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const FREE: u32 = 0;
/// A holder without a name, while nobody needs its id; no thread has this id.
const UNNAMED: u32 = 1 << 30;
/// Set beside the fork's number: the holder forks, and has lent the lock. No thread has such an id.
const LENT: u32 = 1 << 29;
/// Set beside the holder: a thread waits for the lock.
const CONTENDED: u32 = 1 << 31;

/// Number of processes that share this memory without being threads.
static SHARING: AtomicU32 = AtomicU32::new(0);
/// Some of these processes live in another pid namespace, so thread ids are ambiguous.
static AMBIGUOUS_IDS: AtomicBool = AtomicBool::new(false);

/// Some other thread uses this memory, or did.
static COMPANY: AtomicBool = AtomicBool::new(false);

/// Another thread, of this process or another one, is about to begin in this memory. The caller
/// says so before it makes the thread.
pub fn begin_company() {
    COMPANY.store(true, Ordering::Relaxed);
}

fn is_alone() -> bool {
    !COMPANY.load(Ordering::Relaxed)
}

/// Notes one more process that shares this memory. The caller holds all locks, so that each lock
/// taken from now on names its holder. `elsewhere`: the process has a pid namespace of its own.
pub fn begin_sharing(elsewhere: bool) {
    AMBIGUOUS_IDS.fetch_or(elsewhere, Ordering::Relaxed);
    SHARING.fetch_add(1, Ordering::Relaxed);
}

/// Notes that one process that shared this memory is gone.
pub fn end_sharing() {
    SHARING.fetch_sub(1, Ordering::Relaxed);
}

/// Notes that no other thread shares this memory: this is a forked child.
pub fn sharing_ended() {
    COMPANY.store(false, Ordering::Relaxed);
    SHARING.store(0, Ordering::Relaxed);
    AMBIGUOUS_IDS.store(false, Ordering::Relaxed);
}

fn are_named() -> bool {
    SHARING.load(Ordering::Relaxed) != 0 && !AMBIGUOUS_IDS.load(Ordering::Relaxed)
}

/// The word of a lock that this thread holds.
fn holder_word() -> u32 {
    let tid = if are_named() { proc::tid() } else { 0 };
    u32::try_from(tid)
        .ok()
        .filter(|tid| (1..LENT).contains(tid))
        .unwrap_or(UNNAMED)
}

/// A lock without a value.
#[derive(Debug)]
pub struct Word(AtomicU32);

impl Word {
    /// A free lock.
    #[allow(clippy::new_without_default, reason = "it is for constants")]
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }

    /// Waits for the lock; `true`: its holder died, and may have left what the lock guards
    /// inconsistent.
    pub fn lock(&self) -> bool {
        if self.take_alone() {
            return false;
        }
        let me = holder_word();
        self.take(FREE, me).is_err() && self.wait(me)
    }

    #[cold]
    fn wait(&self, me: u32) -> bool {
        if is_alone() {
            // Nobody would free it: a fault has come in the middle of what it guards.
            report::memory_is_damaged(c::SIGSEGV);
        }
        loop {
            let seen = self.0.load(Ordering::Relaxed);
            let marked = seen | CONTENDED;
            if seen == FREE {
                if self.take(FREE, me | CONTENDED).is_ok() {
                    return false;
                }
            } else if seen == marked || self.take(seen, marked).is_ok() {
                let holder = seen & !CONTENDED;
                let expired = futex_wait(&self.0, marked);
                let gone = expired && is_gone(holder);
                let over = gone || (expired && is_lent(holder) && copied::is_copied());
                if over && self.take(marked, me | CONTENDED).is_ok() {
                    return gone;
                }
            }
        }
    }

    /// Takes the lock, if it is free and no other thread can take it. (A signal handler that takes it
    /// in between has freed it when it returns.)
    fn take_alone(&self) -> bool {
        let free = is_alone() && self.0.load(Ordering::Acquire) == FREE;
        if free {
            self.0.store(UNNAMED, Ordering::Release);
        }
        free
    }

    fn take(&self, from: u32, to: u32) -> Result<u32, u32> {
        self.0
            .compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed)
    }

    /// Takes the lock, if it is free.
    pub fn try_lock(&self) -> bool {
        self.take_alone() || self.take(FREE, holder_word()).is_ok()
    }

    /// Lends the lock: the caller holds it and is about to fork. Others may take it over as soon as
    /// the child has its copy of what the lock guards.
    pub fn lend(&self, fork: u32) {
        let lent = LENT | fork & (LENT - 1);
        let lend = |word| Some(lent | word & CONTENDED);
        let _ = self
            .0
            .fetch_update(Ordering::Release, Ordering::Relaxed, lend);
    }

    /// Frees the lock after the fork it was lent for, unless another thread has taken it over.
    pub fn end_of_loan(&self, fork: u32) {
        let lent = LENT | fork & (LENT - 1);
        let free = |from| {
            let (done, failed) = (Ordering::Release, Ordering::Relaxed);
            self.0.compare_exchange(from, FREE, done, failed).is_ok()
        };
        if !free(lent) && free(lent | CONTENDED) {
            futex_wake(&self.0);
        }
    }

    /// Frees the lock, which the caller holds.
    pub fn unlock(&self) {
        if is_alone() {
            // (Nobody waits.)
            self.0.store(FREE, Ordering::Release);
        } else if self.0.swap(FREE, Ordering::Release) & CONTENDED != 0 {
            futex_wake(&self.0);
        }
    }
}

fn is_lent(holder: u32) -> bool {
    holder & LENT != 0
}

/// Whether the holder is known, and its thread is gone.
fn is_gone(holder: u32) -> bool {
    holder < LENT && are_named() && proc::is_gone(holder as i32)
}

/// Mutual exclusion around a value. Not recursive.
#[derive(Debug)]
pub struct Mutex<T> {
    word: Word,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only by the thread that holds the lock.
unsafe impl<T: Send> Sync for Mutex<T> {}

/// Access to the value; the lock is freed when this is dropped.
#[derive(Debug)]
pub struct Guard<'a, T>(&'a Mutex<T>);

impl<T> Mutex<T> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Self {
            word: Word::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock.
    pub fn lock(&self) -> Guard<'_, T> {
        self.lock_or_take_over().0
    }

    /// Waits for the lock; `true`: its holder died, and may have left the value inconsistent.
    pub fn lock_or_take_over(&self) -> (Guard<'_, T>, bool) {
        let over = self.word.lock();
        (Guard(self), over)
    }

    /// The lock, if it is free.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.word.try_lock().then(|| Guard(self))
    }

    /// The lock without the value.
    pub fn word(&self) -> &Word {
        &self.word
    }

    /// Wakes all threads that wait, because soon no thread may be able to.
    pub fn wake_all(&self) {
        futex_wake_all(&self.word.0);
    }

    /// Frees the lock, whoever holds it: for the only thread of a forked child, whose parent held
    /// it across the fork on the child's behalf.
    pub fn reset(&self) {
        self.word.0.store(FREE, Ordering::Release);
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.word.unlock();
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the lock, and is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Word, begin_company};

    #[test]
    fn what_was_taken_alone_is_freed_in_company() {
        // (Other tests may have begun company already.)
        let lock = Word::new();
        assert!(!lock.lock() && !lock.try_lock());
        begin_company();
        assert!(!lock.try_lock());
        lock.unlock();
        assert!(lock.try_lock() && !lock.try_lock());
        lock.unlock();
        assert!(!lock.lock());
    }

    #[test]
    fn a_loan_ends_with_its_fork() {
        let lock = Word::new();
        lock.lock();
        lock.lend(7);
        assert!(!lock.try_lock());
        lock.end_of_loan(6);
        assert!(!lock.try_lock());
        lock.end_of_loan(7);
        assert!(lock.try_lock());
    }
}
