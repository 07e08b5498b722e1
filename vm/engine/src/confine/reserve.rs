//! Memory laid in for the time when none can be mapped any more.

use crate::budget;
use crate::cache::place;
use crate::sys::{Errno, Result, c, mem};
use core::sync::atomic::{AtomicU64, Ordering};

const LEAST: u64 = 1 << 20;

static NEXT: AtomicU64 = AtomicU64::new(0);
static END: AtomicU64 = AtomicU64::new(0);
/// Bytes of it at first.
static LAID_IN: AtomicU64 = AtomicU64::new(0);

/// Lays in what a program's rest of life may take, if there is not enough yet; pages count
/// when they are touched.
pub fn fill() {
    fill_with(budget::for_life());
}

/// The same for a program that is limited: a full heap is the end.
pub fn fill_under_limit() {
    fill_with(budget::reserve());
}

fn fill_with(mut len: u64) {
    while left() < len / 2 && len >= LEAST {
        if let Ok(start) = place::anywhere(len, mem::RW) {
            END.store(0, Ordering::Relaxed);
            NEXT.store(start, Ordering::Relaxed);
            LAID_IN.store(len, Ordering::Relaxed);
            END.store(start + len, Ordering::Release);
            return;
        }
        len /= 2;
    }
}

fn left() -> u64 {
    let end = END.load(Ordering::Acquire);
    end.saturating_sub(NEXT.load(Ordering::Relaxed))
}

/// Bytes that there were at first.
fn laid_in() -> u64 {
    LAID_IN.load(Ordering::Relaxed)
}

/// Takes `len` bytes of zeroes, but not the last, which the heap may come to need.
///
/// # Errors
/// There is not that much.
pub fn take_some(len: u64) -> Result<u64> {
    take(len, budget::last(laid_in()))
}

/// Takes `len` bytes (whole pages) of zeroes and leaves `rest`.
fn take(len: u64, rest: u64) -> Result<u64> {
    const ENOMEM: i32 = 12;
    let len = mem::page_up(len);
    let room = |next: u64| (next + len + rest <= END.load(Ordering::Acquire)).then_some(next + len);
    NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room)
        .map_err(|_| Errno(ENOMEM))
}

/// Memory for the heap, near `hint` if the kernel may be asked. `wish`: not if we would
/// go beyond our share by it, or come to the last that is laid in.
#[must_use]
pub fn for_heap(hint: usize, len: usize, wish: bool) -> Option<usize> {
    if wish && !budget::heap_may_grow(len as u64) {
        return None;
    }
    let bytes = len as u64;
    if let Some(start) = map_heap(hint, len) {
        crate::holdings::heap_grows(start as u64, bytes);
        budget::heap_grows(bytes);
        return Some(start);
    }
    let rest = if wish { budget::last(laid_in()) } else { 0 };
    take(bytes, rest).map(|at| at as usize).ok()
}

fn map_heap(hint: usize, len: usize) -> Option<usize> {
    let protection = mem::RW as usize;
    let flags = (c::MAP_PRIVATE | c::MAP_ANONYMOUS | c::MAP_NORESERVE) as usize;
    let args = [hint, len, protection, flags, usize::MAX, 0];
    // SAFETY: a new mapping at a place that is free (a taken hint is not used).
    unsafe { mem::call_for_room(c::__NR_mmap, args, len as u64) }.ok()
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
