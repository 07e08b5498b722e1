//! How much memory is ours: the one place that judges it.
//!
//! Limits of memory (`RLIMIT_AS`, `RLIMIT_DATA`) count what is ours with what is the app's.
//! The app may need all that it is allowed, so under a limit we live on a share of it: the
//! heap grows to [`heap`] by itself, and where that is full, all fresh code is flushed
//! ([`crate::heap::lasts`]), which frees what is known of it. Under a filter that forbids to map, the
//! share is what was laid in. Only what cannot be done without is taken beyond.

use crate::{c, proc};
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::room;

/// Limits of memory.
pub const LIMITS: [u32; 2] = [c::RLIMIT_AS, c::RLIMIT_DATA];

const MIB: u64 = 1 << 20;
const UNLIMITED: u64 = u64::MAX;

/// The least limit met so far.
static LIMIT: AtomicU64 = AtomicU64::new(UNLIMITED);
/// Bytes of the heap that the kernel was asked for.
static HEAP: AtomicU64 = AtomicU64::new(0);
/// Bytes of units that are mapped.
static UNITS: AtomicU64 = AtomicU64::new(0);

/// Takes note of the limits that the process has.
pub fn learn() {
    LIMITS
        .into_iter()
        .for_each(|it| note_limit(it, proc::limits(it)));
}

/// A limit of the app's memory, soft and hard.
pub fn note_limit(resource: u32, limit: [u64; 2]) {
    LIMIT.fetch_min(allowed(resource, limit), Ordering::Relaxed);
}

/// How many bytes that is.
#[must_use]
pub fn allowed(resource: u32, [soft, hard]: [u64; 2]) -> u64 {
    room::allowed(resource == c::RLIMIT_DATA, soft, hard)
}

/// Whether a limit is known.
#[must_use]
pub fn is_limited() -> bool {
    LIMIT.load(Ordering::Relaxed) != UNLIMITED
}

/// One of so many `parts` of what the limit allows, at least `least`.
fn share(parts: u64, least: u64) -> u64 {
    match LIMIT.load(Ordering::Relaxed) {
        UNLIMITED => UNLIMITED,
        limit => least.max(limit / parts),
    }
}

/// What the heap may grow to without need.
fn heap() -> u64 {
    share(8, 4 * MIB)
}

/// What fresh code may take. It is mapped twice, and for a while beside what was flushed.
#[must_use]
pub fn code() -> u64 {
    share(32, MIB)
}

/// What units may take.
fn units() -> u64 {
    share(8, 4 * MIB)
}

/// What is kept for need.
#[must_use]
pub fn reserve() -> u64 {
    share(16, 2 * MIB).min(8 * MIB)
}

/// What is laid in for the rest of a program's life, when it forbids itself to map.
#[must_use]
pub fn for_life() -> u64 {
    share(4, 8 * MIB).min(256 * MIB)
}

/// Whether a unit of `len` bytes may be mapped.
#[must_use]
pub fn unit_fits(len: u64) -> bool {
    UNITS.load(Ordering::Relaxed) + len <= units()
}

/// A unit was mapped.
pub fn unit_mapped(len: u64) {
    UNITS.fetch_add(len, Ordering::Relaxed);
}

/// It is not any more.
pub fn unit_unmapped(len: u64) {
    UNITS.fetch_sub(len, Ordering::Relaxed);
}

/// Whether the heap may have `len` bytes more, if that can be helped.
#[must_use]
pub fn heap_may_grow(len: u64) -> bool {
    HEAP.load(Ordering::Relaxed) + len <= heap()
}

/// The kernel has given the heap `len` bytes more.
pub fn heap_grows(len: u64) {
    HEAP.fetch_add(len, Ordering::Relaxed);
}

/// Of so many bytes laid in, those that only need may take.
#[must_use]
pub fn last(laid_in: u64) -> u64 {
    MIB.min(laid_in / 2)
}
