//! Memory laid in for the time when none can be mapped any more.

use crate::errno::{Errno, Result};
use crate::{budget, mem};
use core::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(0);
static END: AtomicU64 = AtomicU64::new(0);
/// Bytes of it at first.
static LAID_IN: AtomicU64 = AtomicU64::new(0);

/// The `len` bytes of zeroes at `start` are laid in, in place of what there was.
pub(crate) fn lay_in(start: u64, len: u64) {
    END.store(0, Ordering::Relaxed);
    NEXT.store(start, Ordering::Relaxed);
    LAID_IN.store(len, Ordering::Relaxed);
    END.store(start + len, Ordering::Release);
}

/// Bytes that are left.
pub(crate) fn left() -> u64 {
    let end = END.load(Ordering::Acquire);
    end.saturating_sub(NEXT.load(Ordering::Relaxed))
}

/// Bytes that there were at first.
pub(crate) fn laid_in() -> u64 {
    LAID_IN.load(Ordering::Relaxed)
}

/// Takes `len` bytes of zeroes, but not the last, which the heap may come to need.
///
/// # Errors
/// There is not that much.
pub(crate) fn take_some(len: u64) -> Result<u64> {
    take(len, budget::last(laid_in()))
}

/// Takes `len` bytes (whole pages) of zeroes and leaves `rest`.
///
/// # Errors
/// There is not that much.
pub(crate) fn take(len: u64, rest: u64) -> Result<u64> {
    let len = mem::page_up(len);
    let room = |next: u64| (next + len + rest <= END.load(Ordering::Acquire)).then_some(next + len);
    NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room)
        .map_err(|_| Errno::ENOMEM)
}
