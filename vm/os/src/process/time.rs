//! Clocks.

use crate::c;
use crate::call::raw;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn clock(id: u32) -> Option<(i64, i64)> {
    let mut ts = [0i64; 2];
    let args = [id as usize, ts.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: a timespec is two 64-bit numbers.
    let asked = unsafe { raw(c::__NR_clock_gettime, args) };
    (asked == 0).then_some((ts[0], ts[1]))
}

/// CLOCK_MONOTONIC in nanoseconds; the value of the last [`mark`] if a filter forbids to ask the
/// kernel.
#[must_use]
pub fn monotonic_ns() -> u64 {
    clock(c::CLOCK_MONOTONIC).map_or_else(
        || MARK[1].load(Ordering::Relaxed),
        |(s, n)| s as u64 * 1_000_000_000 + n as u64,
    )
}

/// Ticks and nanoseconds at the same moment, as [`mark`] has stored them.
static MARK: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Stores both clocks' values, because soon one of the clocks cannot be read.
pub fn mark() {
    let now = [ticks(), monotonic_ns()];
    for (mark, value) in MARK.iter().zip(now) {
        mark.store(value, Ordering::Relaxed);
    }
}

/// Ticks and nanoseconds at the same moment: now if both clocks can be read, otherwise those of
/// [`mark`].
#[must_use]
pub fn both() -> (u64, u64) {
    let marked = || {
        (
            MARK[0].load(Ordering::Relaxed),
            MARK[1].load(Ordering::Relaxed),
        )
    };
    match (ticks(), clock(c::CLOCK_MONOTONIC)) {
        (ticks @ 1.., Some((s, n))) => (ticks, s as u64 * 1_000_000_000 + n as u64),
        _ => marked(),
    }
}

/// Processor time of the process in nanoseconds; 0 if a filter forbids to ask the kernel.
#[must_use]
pub fn processor_ns() -> u64 {
    let spent = clock(c::CLOCK_PROCESS_CPUTIME_ID);
    spent.map_or(0, |(s, n)| s as u64 * 1_000_000_000 + n as u64)
}

/// The app has made reading the counter a fault (`PR_SET_TSC`).
static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Sets whether the time stamp counter may be read from now on.
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
    clock(c::CLOCK_REALTIME).unwrap_or_default()
}

/// Sleeps for a millisecond, to let other threads run.
pub fn sleep_a_millisecond() {
    let request: [u64; 2] = [0, 1_000_000];
    // SAFETY: a timespec of our own.
    unsafe {
        raw(
            crate::c::__NR_nanosleep,
            [request.as_ptr() as usize, 0, 0, 0, 0, 0],
        )
    };
}

/// What `attempt` gives, which is made at most so many `times`, a millisecond apart.
pub fn tried<T>(times: u32, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    (0..times).find_map(|_| {
        let given = attempt();
        if given.is_none() {
            sleep_a_millisecond();
        }
        given
    })
}
