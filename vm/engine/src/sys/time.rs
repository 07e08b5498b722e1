//! Clocks.

use super::{c, raw};
use core::sync::atomic::{AtomicBool, Ordering};

fn clock(id: u32) -> (i64, i64) {
    let mut ts = [0i64; 2];
    // SAFETY: a timespec is two 64-bit numbers.
    unsafe {
        raw(
            c::__NR_clock_gettime,
            [id as usize, ts.as_mut_ptr() as usize, 0, 0, 0, 0],
        )
    };
    (ts[0], ts[1])
}

/// CLOCK_MONOTONIC in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let (s, n) = clock(c::CLOCK_MONOTONIC);
    s as u64 * 1_000_000_000 + n as u64
}

/// The app has made reading the counter a fault (`PR_SET_TSC`).
static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Says whether the counter may be read from now on.
pub fn allow_ticks(allowed: bool) {
    FORBIDDEN.store(!allowed, Ordering::Relaxed);
}

/// The CPU's time stamp counter: for measuring, without a system call. 0 while the app
/// forbids it.
#[must_use]
pub fn ticks() -> u64 {
    if FORBIDDEN.load(Ordering::Relaxed) {
        return 0;
    }
    // SAFETY: reads a counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// CLOCK_REALTIME: seconds, nanoseconds.
#[must_use]
pub fn real() -> (i64, i64) {
    clock(c::CLOCK_REALTIME)
}

/// Gives other threads a millisecond.
pub fn sleep_a_millisecond() {
    let request: [u64; 2] = [0, 1_000_000];
    // SAFETY: a timespec of our own.
    unsafe {
        crate::sys::raw(
            crate::sys::c::__NR_nanosleep,
            [request.as_ptr() as usize, 0, 0, 0, 0, 0],
        )
    };
}
