//! Memory reserved for when mmap(2) is no longer possible.

use crate::errno::{Errno, Result};
use crate::{budget, mem};
use core::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(0);
static END: AtomicU64 = AtomicU64::new(0);
/// Size of the reserve when it was filled.
static LAID_IN: AtomicU64 = AtomicU64::new(0);

/// Makes the `len` zero bytes at `start` the reserve, in place of the old one.
pub(crate) fn lay_in(start: u64, len: u64) {
    END.store(0, Ordering::Relaxed);
    NEXT.store(start, Ordering::Relaxed);
    LAID_IN.store(len, Ordering::Relaxed);
    END.store(start + len, Ordering::Release);
}

/// Bytes left in the reserve.
pub(crate) fn left() -> u64 {
    let end = END.load(Ordering::Acquire);
    end.saturating_sub(NEXT.load(Ordering::Relaxed))
}

/// Size of the reserve when it was filled.
pub(crate) fn laid_in() -> u64 {
    LAID_IN.load(Ordering::Relaxed)
}

/// Takes `len` zero bytes, but not the last of the reserve, which the heap may come to need.
///
/// # Errors
/// Too little is left.
pub(crate) fn take_some(len: u64) -> Result<u64> {
    take(len, budget::last(laid_in()))
}

/// Takes `len` zero bytes (whole pages) and leaves at least `rest`.
///
/// # Errors
/// Too little is left.
pub(crate) fn take(len: u64, rest: u64) -> Result<u64> {
    let len = mem::page_up(len);
    let room = |next: u64| (next + len + rest <= END.load(Ordering::Acquire)).then_some(next + len);
    NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room)
        .map_err(|_| Errno::ENOMEM)
}
