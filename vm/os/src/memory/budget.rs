//! How much memory the runtime may take.
//!
//! Memory limits (`RLIMIT_AS`, `RLIMIT_DATA`) count the runtime's memory with the app's. The app
//! may need all that it is allowed, so under a limit the runtime takes a share only. The heap grows
//! to [`heap`] without need. When it is full, all fresh code is flushed ([`crate::heap::lasts`]),
//! which frees what the heap holds about that code. Under a filter that forbids mmap(2), the share
//! is what was reserved before. Only allocations that cannot be avoided exceed the share.

use crate::{c, proc};
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::room;

/// The limits that count memory.
pub const LIMITS: [u32; 2] = [c::RLIMIT_AS, c::RLIMIT_DATA];

const MIB: u64 = 1 << 20;
const UNLIMITED: u64 = u64::MAX;

/// Lowest limit seen so far.
static LIMIT: AtomicU64 = AtomicU64::new(UNLIMITED);
/// Bytes that the heap has got from the kernel.
static HEAP: AtomicU64 = AtomicU64::new(0);
/// Bytes of mapped units.
static UNITS: AtomicU64 = AtomicU64::new(0);

/// Reads the memory limits of the process.
pub fn learn() {
    LIMITS
        .into_iter()
        .for_each(|it| note_limit(it, proc::limits(it)));
}

/// Takes note of a memory limit of the app, soft and hard.
pub fn note_limit(resource: u32, limit: [u64; 2]) {
    LIMIT.fetch_min(allowed(resource, limit), Ordering::Relaxed);
}

/// How many bytes a limit allows.
#[must_use]
pub fn allowed(resource: u32, [soft, hard]: [u64; 2]) -> u64 {
    room::allowed(resource == c::RLIMIT_DATA, soft, hard)
}

/// Whether any memory limit is known.
#[must_use]
pub fn is_limited() -> bool {
    LIMIT.load(Ordering::Relaxed) != UNLIMITED
}

/// The limit divided by `parts`, but at least `least`.
fn share(parts: u64, least: u64) -> u64 {
    match LIMIT.load(Ordering::Relaxed) {
        UNLIMITED => UNLIMITED,
        limit => least.max(limit / parts),
    }
}

/// Bytes that the heap may grow to without need.
fn heap() -> u64 {
    share(8, 4 * MIB)
}

/// Bytes of fresh code. The memory is mapped twice, and after a flush the old code stays mapped
/// beside the new for a while.
#[must_use]
pub fn code() -> u64 {
    share(32, MIB)
}

/// Bytes that mapped units may take.
fn units() -> u64 {
    share(8, 4 * MIB)
}

/// Bytes to reserve under a limit, for allocations that cannot be avoided.
#[must_use]
pub fn reserve() -> u64 {
    share(16, 2 * MIB).min(8 * MIB)
}

/// Bytes to reserve for the rest of a program's life, before its filter forbids mmap(2).
#[must_use]
pub fn for_life() -> u64 {
    share(4, 8 * MIB).min(256 * MIB)
}

/// Whether a unit of `len` bytes may be mapped.
#[must_use]
pub fn unit_fits(len: u64) -> bool {
    UNITS.load(Ordering::Relaxed) + len <= units()
}

/// Notes that a unit of `len` bytes was mapped.
pub fn unit_mapped(len: u64) {
    UNITS.fetch_add(len, Ordering::Relaxed);
}

/// Notes that a unit of `len` bytes was unmapped.
pub fn unit_unmapped(len: u64) {
    UNITS.fetch_sub(len, Ordering::Relaxed);
}

/// Whether the heap may grow by `len` bytes for an allocation that could be avoided.
#[must_use]
pub fn heap_may_grow(len: u64) -> bool {
    HEAP.load(Ordering::Relaxed) + len <= heap()
}

/// Notes that the heap has got `len` more bytes from the kernel.
pub fn heap_grows(len: u64) {
    HEAP.fetch_add(len, Ordering::Relaxed);
}

/// How many of `laid_in` reserved bytes are kept for allocations that cannot be avoided.
#[must_use]
pub fn last(laid_in: u64) -> u64 {
    MIB.min(laid_in / 2)
}
