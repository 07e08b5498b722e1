//! A sleeping mutex on a futex. One guards the VM; see [`crate::vm`].

use crate::sys::proc::{futex_wait, futex_wake, futex_wake_all};
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// Mutual exclusion around a value. Not recursive.
#[derive(Debug)]
pub struct Mutex<T> {
    state: AtomicU32,
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
            state: AtomicU32::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock.
    pub fn lock(&self) -> Guard<'_, T> {
        self.lock_unless(|| false)
    }

    /// The same; now and then asks whether who holds it is gone, and takes it then.
    pub fn lock_unless(&self, abandoned: impl Fn() -> bool) -> Guard<'_, T> {
        if self
            .state
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            while self.state.swap(CONTENDED, Ordering::Acquire) != FREE {
                futex_wait(&self.state, CONTENDED);
                if abandoned() {
                    self.reset();
                    self.wake_all();
                }
            }
        }
        Guard(self)
    }

    /// The lock, if it is free.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.state
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
            .then(|| Guard(self))
    }

    /// Wakes all who wait: soon nobody may be able to.
    pub fn wake_all(&self) {
        futex_wake_all(&self.state);
    }

    /// Makes the lock free whoever held it: for the only thread of a forked child,
    /// whose parent held it across the fork on the child's behalf.
    pub fn reset(&self) {
        self.state.store(FREE, Ordering::Release);
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if self.0.state.swap(FREE, Ordering::Release) == CONTENDED {
            futex_wake(&self.0.state);
        }
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
