//! Mappings of ours, out of the app's way: see [`crate::regions`].

use crate::errno::{Errno, Result};
use crate::regions::{LOW_CODE, holes};
use crate::{maps, mem, reserve};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::room::PRIVATE;

pub use crate::regions::LOW_CODE as CODE_OF_LOW;
pub use crate::regions::{
    FARTHEST, LOW, NEAREST, candidates, distances, is_private, reaches, reaches_from,
};

/// The first address for private memory; moved by [`seed`].
static FIRST_PRIVATE: AtomicU64 = AtomicU64::new(PRIVATE);
/// The next one.
static NEXT_PRIVATE: AtomicU64 = AtomicU64::new(PRIVATE);

/// Moves private memory by a random number of pages (address-space randomisation
/// is the app's choice, so the launcher's random bytes decide).
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

/// Start and end of what [`anywhere`] has taken.
#[must_use]
pub fn claimed() -> (u64, u64) {
    match FIRST_PRIVATE.load(Ordering::Relaxed) {
        // The end was reached once.
        PRIVATE => (PRIVATE, LOW_CODE),
        first => (first, NEXT_PRIVATE.load(Ordering::Relaxed)),
    }
}

/// A page where nothing is, nor will be: the one behind the last that [`anywhere`] has taken.
#[must_use]
pub fn gap() -> u64 {
    NEXT_PRIVATE.load(Ordering::Relaxed) - mem::PAGE
}

/// [`anywhere`] with shared memory.
///
/// # Errors
/// As that.
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

/// The address behind the last one, and a page; from the start again at the end, since
/// threads without number come and go.
fn next_private(len: u64) -> u64 {
    let addr = NEXT_PRIVATE.fetch_add(len + mem::PAGE, Ordering::Relaxed);
    if addr + len <= LOW_CODE {
        return addr;
    }
    FIRST_PRIVATE.store(PRIVATE, Ordering::Relaxed);
    NEXT_PRIVATE.store(PRIVATE + len + mem::PAGE, Ordering::Relaxed);
    PRIVATE
}

/// Addresses for `len` bytes in the gaps that the kernel's list shows within reach of
/// app addresses `start .. end`: for when the app itself has filled the usual stretch
/// (a large heap below its libraries). The farthest come first, out of its way.
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
