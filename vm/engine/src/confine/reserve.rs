//! Memory laid in for the time when none can be mapped any more.

use crate::cache::place;
use crate::sys::{Errno, Result, c, mem, proc};
use core::sync::atomic::{AtomicU64, Ordering};

/// As much as a program's rest of life may take; pages count when they are touched.
const WANTED: u64 = 256 << 20;
/// Where address space is limited.
const MODEST: u64 = 8 << 20;
const LEAST: u64 = 1 << 20;

static NEXT: AtomicU64 = AtomicU64::new(0);
static END: AtomicU64 = AtomicU64::new(0);

/// Lays it in, if there is not enough yet.
pub fn fill() {
    fill_with(if limited() { MODEST } else { WANTED });
}

/// The same for a program that is about to limit itself.
pub fn fill_modestly() {
    fill_with(MODEST);
}

/// The same for a program that is limited from the start: a full heap is the end.
pub fn fill_under_limit() {
    const PARTS: u64 = 8;
    fill_with(MODEST.min(proc::limit(c::RLIMIT_AS) / PARTS));
}

fn fill_with(mut len: u64) {
    let left = END.load(Ordering::Relaxed) - NEXT.load(Ordering::Relaxed);
    while left < len / 2 && len >= LEAST {
        if let Ok(start) = place::anywhere(len, mem::RW) {
            END.store(0, Ordering::Relaxed);
            NEXT.store(start, Ordering::Relaxed);
            END.store(start + len, Ordering::Release);
            return;
        }
        len /= 2;
    }
}

/// Takes `len` bytes (whole pages) of zeroes.
///
/// # Errors
/// There is not that much.
pub fn take(len: u64) -> Result<u64> {
    const ENOMEM: i32 = 12;
    let len = mem::page_up(len);
    let room = |next: u64| (next + len <= END.load(Ordering::Acquire)).then_some(next + len);
    NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room)
        .map_err(|_| Errno(ENOMEM))
}

/// Memory for the heap, near `hint` if the kernel may be asked.
#[must_use]
pub fn for_heap(hint: usize, len: usize) -> Option<usize> {
    let protection = mem::RW as usize;
    let flags = (c::MAP_PRIVATE | c::MAP_ANONYMOUS | c::MAP_NORESERVE) as usize;
    let args = [hint, len, protection, flags, usize::MAX, 0];
    // SAFETY: a new mapping at a place that is free (a taken hint is not used).
    let mapped = unsafe { crate::sys::call(c::__NR_mmap, args) };
    match mapped {
        Ok(start) => crate::holdings::heap_grows(start as u64, len as u64),
        Err(_) => return take(len as u64).map(|at| at as usize).ok(),
    }
    mapped.ok()
}

/// Whether the app's memory is limited (setrlimit(2)).
#[must_use]
pub fn limited() -> bool {
    let limits = [c::RLIMIT_AS, c::RLIMIT_DATA];
    limits.into_iter().any(|it| proc::limit(it) != u64::MAX)
}

/// Whether what is laid in for code is a small part of what the limits allow.
#[must_use]
pub fn limits_are_ample() -> bool {
    const AMPLE: u64 = 96 << 20;
    let limits = [c::RLIMIT_AS, c::RLIMIT_DATA];
    limits.into_iter().all(|it| proc::limit(it) >= AMPLE)
}

/// Whether the heap and threads can still get memory from the kernel under `next`.
#[must_use]
pub fn is_needed(next: &ppin_seccomp::Confinement) -> bool {
    !super::may(next, c::__NR_mmap, &mapping(mem::RW))
}

/// A mapping as the VM asks for it under a filter.
#[must_use]
pub fn mapping(protection: u32) -> [usize; 6] {
    let flags = c::MAP_PRIVATE | c::MAP_ANONYMOUS | c::MAP_NORESERVE;
    let len = LEAST as usize;
    [0, len, protection as usize, flags as usize, usize::MAX, 0]
}
