//! Where our mappings go.
//!
//! The kernel hands out addresses from the top down, so the app's layout stays its
//! own only if we never let the kernel choose for us. Private memory goes just below
//! the stretch where the kernel loads position-independent executables (from
//! 2/3 of the address space, `ELF_ET_DYN_BASE`, on): nothing else maps there by
//! itself, the two great gaps that programs reserve terabytes in stay whole, and
//! sanitizers, which claim fixed quarters of the address space for their shadows,
//! all count it as the program's. Code goes near the image it was translated from,
//! within reach of 32-bit displacements but well below the stretch that the app's own
//! mappings fill first.

use crate::confine::reserve;
use crate::sys::{Errno, Result, mem};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::room::PRIVATE;

/// Distance from an image base down to the nearest place for its code.
pub const NEAREST: u64 = 0x4000_0000;
/// Distance to the farthest.
pub const FARTHEST: u64 = 0x7000_0000;
/// Images below this address are addressed absolutely, from anywhere.
pub const LOW: u64 = 1 << 31;
/// Where code of low images goes.
pub const LOW_CODE: u64 = 0x5540_0000_0000;

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

/// Whether `addr` lies where [`anywhere`] maps.
#[must_use]
pub fn is_private(addr: u64) -> bool {
    addr.is_multiple_of(mem::PAGE) && (PRIVATE..LOW_CODE).contains(&addr)
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
            Err(Errno(EEXIST)) => {}
            other => return other,
        }
    }
    Err(Errno(ENOMEM))
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

const EEXIST: i32 = 17;
const ENOMEM: i32 = 12;

/// Candidate addresses for `len` bytes of code near an image based at `base`:
/// from the `first` displacement (bytes below the base) on, away and round.
pub fn candidates(base: u64, len: u64, first: u64) -> impl Iterator<Item = u64> {
    let span = FARTHEST - NEAREST;
    let step = mem::page_up(len).max(1 << 20);
    let start = first.saturating_sub(NEAREST) % span;
    (0..span / step).filter_map(move |k| {
        let distance = NEAREST + (start + k * step) % span;
        let addr = if base < LOW {
            LOW_CODE + base + distance
        } else {
            base.checked_sub(distance)?
        };
        Some(mem::page_down(addr))
    })
}

/// Addresses for `len` bytes in the gaps that the kernel's list shows within reach of
/// app addresses `start .. end`: for when the app itself has filled the usual stretch
/// (a large heap below its libraries). The farthest come first, out of its way.
#[must_use]
pub fn gaps(start: u64, end: u64, len: u64) -> Vec<u64> {
    let maps = crate::image::maps::read().unwrap_or_default();
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

/// What lies between the `mapped` spans in the part of memory where programs may map
/// (the kernel's list ends with a page beyond it).
fn holes(mapped: &[(u64, u64)]) -> impl Iterator<Item = (u64, u64)> {
    const FIRST: u64 = 0x10_0000;
    const END: u64 = 0x7fff_ffff_f000;
    let starts = core::iter::once(FIRST).chain(mapped.iter().map(|(_, end)| (*end).max(FIRST)));
    let ends = mapped.iter().map(|(start, _)| *start).chain([END]);
    starts
        .zip(ends)
        .map(|(low, high)| (low, high.min(END)))
        .filter(|(low, high)| low < high)
}

/// What 32-bit displacements reach, with something to spare.
const REACH: u64 = 0x7c00_0000;

/// Distances below the base of an image, which ends `extent` bytes above it, at which its
/// persisted code may lie: nearest and farthest. The larger the image, the nearer.
#[must_use]
pub fn distances(extent: u64) -> (u64, u64) {
    const UNIT: u64 = 64 << 20;
    let (near, far) = (NEAREST + (FARTHEST - NEAREST) / 2 + UNIT, FARTHEST);
    let farthest = REACH.saturating_sub(extent.saturating_add(UNIT));
    let farthest = farthest.clamp(UNIT, far);
    (near.min(farthest - farthest / 4), farthest)
}

/// Whether code at any of these distances below `base` reaches the app address `at`.
#[must_use]
pub fn reaches_from(base: u64, distances: (u64, u64), at: u64) -> bool {
    let from = |distance| reaches(base.wrapping_sub(distance), 0, at, at.saturating_add(1));
    from(distances.0) && from(distances.1)
}

/// Whether code at `cache .. cache + len` reaches all of `start .. end` (app) with
/// 32-bit displacements.
#[must_use]
pub fn reaches(cache: u64, len: u64, start: u64, end: u64) -> bool {
    if end < LOW {
        return true;
    }
    let (low, high) = (cache.min(start), (cache + len).max(end));
    high - low < REACH
}

#[cfg(test)]
mod tests {
    use super::{FARTHEST, NEAREST, distances, holes, reaches_from};
    use alloc::vec::Vec;

    #[test]
    fn code_reaches_all_of_its_image_however_large() {
        const BASE: u64 = 0x7f00_0000_0000;
        for extent in [0, 1 << 20, 175 << 20, 1 << 29, 1 << 30, 0x7000_0000] {
            let (near, far) = distances(extent);
            assert!(0 < near && near < far && far <= FARTHEST, "{extent:#x}");
            for at in [BASE, BASE + extent, BASE - near] {
                assert!(reaches_from(BASE, (near, far), at), "{extent:#x}");
            }
        }
        let usual = distances(100 << 20);
        assert_eq!((usual.0 > NEAREST, usual.1), (true, FARTHEST));
        assert!(!reaches_from(BASE, usual, BASE + (600 << 20)));
    }

    #[test]
    fn holes_lie_where_programs_may_map() {
        let vsyscall = 0xffff_ffff_ff60_0000;
        let mapped = [
            (0x1000, 0x2000),
            (0x40_0000, 0x50_0000),
            (0x7fff_f000_0000, 0x7fff_f100_0000),
            (vsyscall, vsyscall + 0x1000),
        ];
        let found: Vec<_> = holes(&mapped).collect();
        let expected = [
            (0x10_0000, 0x40_0000),
            (0x50_0000, 0x7fff_f000_0000),
            (0x7fff_f100_0000, 0x7fff_ffff_f000),
        ];
        assert_eq!(found, expected);
        assert_eq!(holes(&[]).count(), 1);
    }
}
