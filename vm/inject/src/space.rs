//! The memory that P gives to H.
//!
//! # Safety
//!
//! P's side keeps it alive until the word in it is 0.
#![allow(unsafe_code)]

use crate::cpu::Cpu;
use crate::plant::Seed;
use crate::word;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};

const STACK: usize = 16 << 10;

/// Memory for H: its word, its orders, its stack. Any 64-byte aligned, zeroed or
/// formerly used memory will do; it is H's until [`HelperSpace::finished`].
#[derive(Debug)]
#[repr(C, align(64))]
pub struct HelperSpace {
    pub(crate) word: AtomicU32,
    pub(crate) process: i32,
    pub(crate) task: i32,
    /// Why H left without an exec: an error number; 0: it did not say;
    /// [`HelperSpace::LOOSE`].
    pub(crate) refusal: i32,
    pub(crate) seed: Seed,
    stack: [MaybeUninit<u8>; STACK],
}

impl HelperSpace {
    /// H has let P go, which was stopped.
    pub(crate) const LOOSE: i32 = -1;

    pub(crate) fn word(space: *mut Self) -> *const AtomicU32 {
        // SAFETY: computes an address only.
        unsafe { &raw const (*space).word }
    }

    /// Waits until no H uses this memory. The parent of a vfork child must do so
    /// when it wakes: it wakes as soon as the child's exec takes a memory of its
    /// own, and H finishes its work in the parent's memory meanwhile. Without an H
    /// (zeroed memory) this returns at once.
    ///
    /// # Safety
    /// `space` points to a space as described above.
    pub unsafe fn finished(space: *mut Self) {
        // SAFETY: the word is alive and only used atomically.
        let word = unsafe { &*Self::word(space) };
        loop {
            let now = word.load(Ordering::Acquire);
            if now == word::GONE {
                return;
            }
            word::wait_while(&mut Cpu, word, now);
        }
    }
}
