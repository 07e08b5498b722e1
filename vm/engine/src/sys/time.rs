//! Clocks.

use super::{c, raw};

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

/// The CPU's time stamp counter: for measuring, without a system call.
#[must_use]
pub fn ticks() -> u64 {
    // SAFETY: reads a counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// CLOCK_REALTIME: seconds, nanoseconds.
#[must_use]
pub fn real() -> (i64, i64) {
    clock(c::CLOCK_REALTIME)
}
