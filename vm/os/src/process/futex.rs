//! Sleeping and waking (futex(2)).

use crate::call::raw;
use crate::errno::Errno;
use crate::kernel::Permit;
use crate::{c, filter};
use core::sync::atomic::AtomicU32;

/// Makes a futex call on a word of this process; returns whether it was a wait that timed out. A
/// wait may return at once, and does so while threads may be unable to wake each other.
pub fn futex(word: &AtomicU32, operation: u32, value: u32) -> bool {
    if operation == c::FUTEX_WAIT && filter::nobody_wakes() {
        core::hint::spin_loop();
        return false;
    }
    // Waits end after a while: a thread that is killed right after it was woken wakes no other.
    let a_moment: [u64; 2] = [0, 50_000_000];
    let timeout = if operation == c::FUTEX_WAIT {
        a_moment.as_ptr() as usize
    } else {
        0
    };
    let operation = (operation | c::FUTEX_PRIVATE_FLAG) as usize;
    let args = [
        word.as_ptr() as usize,
        operation,
        value as usize,
        timeout,
        0,
        0,
    ];
    // SAFETY: the word outlives the call.
    unsafe { raw(c::__NR_futex, args) == Errno::ETIMEDOUT.raw() }
}

/// Sleeps while `*word == value`; `true`: the wait timed out.
pub fn futex_wait(word: &AtomicU32, value: u32) -> bool {
    futex(word, c::FUTEX_WAIT, value)
}

/// Wakes one sleeper.
pub fn futex_wake(word: &AtomicU32) {
    futex(word, c::FUTEX_WAKE, 1);
}

/// Wakes all sleepers, without asking the filters that may soon forbid it.
pub fn futex_wake_all(word: &AtomicU32) {
    let operation = (c::FUTEX_WAKE | c::FUTEX_PRIVATE_FLAG) as usize;
    let args = [
        word.as_ptr() as usize,
        operation,
        i32::MAX as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the call only uses the word's address.
    unsafe { Permit::despite_filters(c::__NR_futex, args).execute() };
}
