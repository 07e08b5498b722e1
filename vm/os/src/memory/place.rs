//! Maps the runtime's memory out of the app's way: see [`crate::regions`].

use crate::errno::{Errno, Result};
use crate::regions::{LOW_CODE, holes};
use crate::{maps, mem, reserve};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::room::PRIVATE;

pub use crate::regions::LOW_CODE as CODE_OF_LOW;
pub use crate::regions::{FARTHEST, LOW, NEAREST, candidates, distances, is_private, reaches};

/// The first address for private memory; moved by [`seed`].
static FIRST_PRIVATE: AtomicU64 = AtomicU64::new(PRIVATE);
/// The next address for private memory.
static NEXT_PRIVATE: AtomicU64 = AtomicU64::new(PRIVATE);

/// Moves private memory by a random number of pages. Address-space randomisation is the app's
/// choice, so the number comes from the launcher's random bytes.
pub fn seed(random: u64) {
    let first = PRIVATE + ((random & 0xff_ffff) << 12);
    FIRST_PRIVATE.store(first, Ordering::Relaxed);
    NEXT_PRIVATE.store(first, Ordering::Relaxed);
}

/// Maps `len` bytes of private anonymous memory, out of the app's way.
///
/// # Errors
/// No memory, or no room in 1,000 tries.
pub fn anywhere(len: u64, prot: u32) -> Result<u64> {
    let mapped = somewhere(len, |addr, len| mem::map_anon_at(addr, len, prot));
    match mapped {
        Err(_) if prot == mem::RW => reserve::take_some(len).or(mapped),
        mapped => mapped,
    }
}

/// Maps `len` bytes of private anonymous memory, out of the app's way, so that a multiple of `unit` bytes,
/// a power of 2, lies `at` bytes behind its start. Both are whole pages.
///
/// # Errors
/// Those of [`anywhere`].
pub fn anywhere_aligned(len: u64, at: u64, unit: u64) -> Result<u64> {
    let fits = |addr: u64| (addr + at).next_multiple_of(unit) - at;
    let room = mem::page_up(len) + unit - mem::PAGE;
    let mapped = somewhere(room, |addr, _| mem::map_anon_at(fits(addr), len, mem::RW));
    mapped.or_else(|error| reserve::take_some(room).map(fits).or(Err(error)))
}

/// Start and end of the addresses that [`anywhere`] has used.
#[must_use]
pub fn claimed() -> (u64, u64) {
    match FIRST_PRIVATE.load(Ordering::Relaxed) {
        // The whole region, since its end was reached once.
        PRIVATE => (PRIVATE, LOW_CODE),
        first => (first, NEXT_PRIVATE.load(Ordering::Relaxed)),
    }
}

/// The same in a process that this one was forked from, which may have used more since.
#[must_use]
pub fn claimed_by_parent() -> (u64, u64) {
    (FIRST_PRIVATE.load(Ordering::Relaxed), LOW_CODE)
}

/// A page that is and stays unmapped: the one after the last that [`anywhere`] has used.
#[must_use]
pub fn gap() -> u64 {
    NEXT_PRIVATE.load(Ordering::Relaxed) - mem::PAGE
}

/// Maps `len` bytes of shared anonymous memory, out of the app's way.
///
/// # Errors
/// Those of [`anywhere`].
pub fn anywhere_shared(len: u64, prot: u32) -> Result<u64> {
    somewhere(len, |addr, len| mem::map_shared_at(addr, len, prot))
}

fn somewhere(len: u64, map: impl Fn(u64, u64) -> Result<u64>) -> Result<u64> {
    let len = mem::page_up(len);
    for _ in 0..1000 {
        match map(next_private(len), len) {
            Err(Errno::EEXIST) => {}
            other => return other,
        }
    }
    Err(Errno::ENOMEM)
}

/// The address after the last mapping and one page. At the end of the region it starts again, since
/// any number of threads come and go.
fn next_private(len: u64) -> u64 {
    let addr = NEXT_PRIVATE.fetch_add(len + mem::PAGE, Ordering::Relaxed);
    if addr + len <= LOW_CODE {
        return addr;
    }
    FIRST_PRIVATE.store(PRIVATE, Ordering::Relaxed);
    NEXT_PRIVATE.store(PRIVATE + len + mem::PAGE, Ordering::Relaxed);
    PRIVATE
}

/// Addresses for `len` bytes in the gaps that the kernel's list shows within reach of app addresses
/// `start .. end`: for when the app itself has filled the usual region (a large heap below its
/// libraries). The farthest come first, out of the app's way.
#[must_use]
pub fn gaps(start: u64, end: u64, len: u64) -> Vec<u64> {
    let maps = maps::read().unwrap_or_default();
    let spans: Vec<(u64, u64)> = maps.iter().map(|m| (m.start, m.end)).collect();
    let mut found: Vec<u64> = holes(&spans)
        .flat_map(|(low, high)| [low, high.saturating_sub(len)].map(|at| (at, low, high)))
        .filter(|(at, low, high)| at >= low && at.saturating_add(len) <= *high)
        .map(|(at, ..)| mem::page_down(at))
        .filter(|at| reaches(*at, len, start, end))
        .collect();
    found.sort_unstable_by_key(|at| core::cmp::Reverse(at.abs_diff(start)));
    found
}
