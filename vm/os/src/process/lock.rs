//! Sleeping locks on a futex that know who holds them. One guards the VM.
//!
//! Processes may share this memory without being threads of one another (clone(2) with
//! `CLONE_VM`), and each may be killed at any instruction, with a lock in its hands. As long
//! as there are such processes, the word holds the holder's thread id: who has waited for
//! a while looks whether that one is gone, and takes the lock over.

use crate::futex::{futex_wait, futex_wake, futex_wake_all};
use crate::{copied, proc};
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const FREE: u32 = 0;
/// The holder, where nobody needs to know; no thread has this id.
const SOMEBODY: u32 = 1 << 30;
/// The holder forks, and has lent the lock; beside the fork's number. No thread has such an
/// id.
const LENT: u32 = 1 << 29;
/// Somebody waits; beside the holder.
const CONTENDED: u32 = 1 << 31;

/// Processes that share this memory without being threads.
static SHARING: AtomicU32 = AtomicU32::new(0);
/// Some live in another pid namespace, where ids mean others.
static NAMELESS: AtomicBool = AtomicBool::new(false);

/// One process more may share this memory. The caller has all locks, so that whoever takes
/// one from here on gives a name. `elsewhere`: it has a pid namespace of its own.
pub fn begin_sharing(elsewhere: bool) {
    NAMELESS.fetch_or(elsewhere, Ordering::Relaxed);
    SHARING.fetch_add(1, Ordering::Relaxed);
}

/// One of them is gone.
pub fn end_sharing() {
    SHARING.fetch_sub(1, Ordering::Relaxed);
}

/// This is a forked child, alone in its memory.
pub fn alone() {
    SHARING.store(0, Ordering::Relaxed);
    NAMELESS.store(false, Ordering::Relaxed);
}

fn are_named() -> bool {
    SHARING.load(Ordering::Relaxed) != 0 && !NAMELESS.load(Ordering::Relaxed)
}

/// What this thread writes into a lock that it takes.
fn me() -> u32 {
    let tid = if are_named() { proc::tid() } else { 0 };
    u32::try_from(tid)
        .ok()
        .filter(|tid| (1..LENT).contains(tid))
        .unwrap_or(SOMEBODY)
}

/// A lock around nothing.
#[derive(Debug)]
pub struct Word(AtomicU32);

impl Word {
    /// A free lock.
    #[allow(clippy::new_without_default, reason = "it is for constants")]
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }

    /// Waits for the lock; `true`: its holder is gone, and left what it guards as it was.
    pub fn lock(&self) -> bool {
        let me = me();
        self.take(FREE, me).is_err() && self.wait(me)
    }

    #[cold]
    fn wait(&self, me: u32) -> bool {
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

    fn take(&self, from: u32, to: u32) -> Result<u32, u32> {
        self.0
            .compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed)
    }

    /// Takes the lock, if it is free.
    pub fn try_lock(&self) -> bool {
        self.take(FREE, me()).is_ok()
    }

    /// The caller, who holds the lock, is about to fork: others may take it over when the
    /// child has its copy of what the lock guards.
    pub fn lend(&self, fork: u32) {
        let lent = LENT | fork & (LENT - 1);
        let lend = |word| Some(lent | word & CONTENDED);
        let _ = self
            .0
            .fetch_update(Ordering::Release, Ordering::Relaxed, lend);
    }

    /// That fork is over: frees the lock, unless it has been taken over.
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

    /// Frees it; the caller holds it.
    pub fn unlock(&self) {
        if self.0.swap(FREE, Ordering::Release) & CONTENDED != 0 {
            futex_wake(&self.0);
        }
    }
}

fn is_lent(holder: u32) -> bool {
    holder & LENT != 0
}

/// Whether the holder is known, and not among the living.
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

/// The right to use the value; released when dropped.
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

    /// The same; `true`: who had it is gone, and left the value as it was.
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

    /// Wakes all who wait: soon nobody may be able to.
    pub fn wake_all(&self) {
        futex_wake_all(&self.word.0);
    }

    /// Makes the lock free whoever held it: for the only thread of a forked child,
    /// whose parent held it across the fork on the child's behalf.
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
    use super::Word;

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
