//! The futex word between P and H.
//!
//! ```text
//! INIT --P: PR_SET_PTRACER done--> GO --H: seized--> SEIZED --P: exec failed-->
//!      FAILED --H: detached--> DETACHED
//! SEIZED --H: P was stopped--> LOOSE: H lets P go, which then begins anew
//! 0: H is gone (written by the kernel, CLONE_CHILD_CLEARTID); why, if it knew, is in
//!    a place of its own, since this 0 comes over whatever H may have written here
//! ```
//! Every change is followed by a wake. The word lies in memory that both share;
//! when the exec gives P a new memory, the word stays behind with H (and with the
//! parent of a vfork child, who waits for 0 before that memory is used again).
#![allow(unsafe_code)]

use crate::sys::Kernel;
use core::sync::atomic::{AtomicU32, Ordering};
use linux_raw_sys::general::{__NR_futex, FUTEX_WAIT, FUTEX_WAKE};

pub const GONE: u32 = 0;
pub const INIT: u32 = 1;
pub const GO: u32 = 2;
pub const SEIZED: u32 = 3;
pub const FAILED: u32 = 4;
pub const DETACHED: u32 = 5;
pub const LOOSE: u32 = 6;

/// Moves the word from `before` to `after` and wakes the other side. A word that is
/// not `before` stays: H may be gone already, and its 0 is the last word.
pub fn post<K: Kernel>(kernel: &mut K, word: &AtomicU32, before: u32, after: u32) {
    let moved = word.compare_exchange(before, after, Ordering::AcqRel, Ordering::Acquire);
    if moved.is_ok() {
        let args = [word.as_ptr() as usize, FUTEX_WAKE as usize, 1, 0, 0, 0];
        // SAFETY: the word is alive; waking reads and writes nothing.
        unsafe { kernel.call(__NR_futex, args) };
    }
}

/// Waits while the word is `value`; returns what it became.
pub fn wait_while<K: Kernel>(kernel: &mut K, word: &AtomicU32, value: u32) -> u32 {
    loop {
        let now = word.load(Ordering::Acquire);
        if now != value {
            return now;
        }
        // Not FUTEX_PRIVATE: the kernel's wake at H's end is a shared one.
        let args = [
            word.as_ptr() as usize,
            FUTEX_WAIT as usize,
            value as usize,
            0,
            0,
            0,
        ];
        // SAFETY: the word is alive; the kernel only reads it.
        unsafe { kernel.call(__NR_futex, args) };
    }
}
