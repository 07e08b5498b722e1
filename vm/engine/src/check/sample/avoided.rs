//! Code that the copies do not compare.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

static AVOIDED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Excludes code in `range` from comparison.
pub(super) fn avoid(range: (u64, u64)) {
    AVOIDED[0].store(range.0, Relaxed);
    AVOIDED[1].store(range.1, Relaxed);
}

/// Whether `pc` is excluded from comparison.
#[must_use]
pub(super) fn is_avoided(pc: u64) -> bool {
    (AVOIDED[0].load(Relaxed)..AVOIDED[1].load(Relaxed)).contains(&pc)
}
