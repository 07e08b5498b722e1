//! The regions of the address space for the runtime's mappings.
//!
//! The kernel hands out addresses from the top down, so the app's layout is as natively only if the
//! runtime never lets the kernel choose for it. Private memory goes just below the region where the
//! kernel loads position-independent executables (from 2/3 of the address space on,
//! `ELF_ET_DYN_BASE`). Nothing else maps there by itself. The two great gaps in which programs
//! reserve terabytes stay whole. Sanitizers, which claim fixed quarters of the address space for
//! their shadows, all count the region as the program's. Code goes near the image it was translated
//! from, within reach of 32-bit displacements but well below the region that the app's own mappings
//! fill first.

use crate::page;
use core::ops::Range;
use ppin_abi::room::PRIVATE;

/// Distance from an image base down to the nearest place for its code.
pub const NEAREST: u64 = 0x4000_0000;
/// Distance from an image base down to the farthest place for its code.
pub const FARTHEST: u64 = 0x7000_0000;
/// Code reaches images below this address from anywhere, with absolute addresses.
pub const LOW: u64 = 1 << 31;
/// Base of the region for code of low images.
pub const LOW_CODE: u64 = 0x5540_0000_0000;

/// Whether `addr` lies where [`crate::place::anywhere`] maps.
#[must_use]
pub fn is_private(addr: u64) -> bool {
    addr.is_multiple_of(page::PAGE) && (PRIVATE..LOW_CODE).contains(&addr)
}

/// Candidate addresses for `len` bytes of code near an image based at `base`:
/// from the `first` displacement (bytes below the base) on, away and round.
pub fn candidates(base: u64, len: u64, first: u64) -> impl Iterator<Item = u64> {
    let span = FARTHEST - NEAREST;
    let step = page::page_up(len).max(1 << 20);
    let start = first.saturating_sub(NEAREST) % span;
    (0..span / step).filter_map(move |k| {
        let distance = NEAREST + (start + k * step) % span;
        let addr = if base < LOW {
            LOW_CODE + base + distance
        } else {
            base.checked_sub(distance)?
        };
        Some(page::page_down(addr))
    })
}

/// The gaps between the `mapped` spans in the part of memory where programs may map (the kernel's
/// list ends with a page beyond it).
pub(crate) fn holes(mapped: &[(u64, u64)]) -> impl Iterator<Item = (u64, u64)> {
    const FIRST: u64 = 0x10_0000;
    const END: u64 = 0x7fff_ffff_f000;
    let starts = core::iter::once(FIRST).chain(mapped.iter().map(|(_, end)| (*end).max(FIRST)));
    let ends = mapped.iter().map(|(start, _)| *start).chain([END]);
    starts
        .zip(ends)
        .map(|(low, high)| (low, high.min(END)))
        .filter(|(low, high)| low < high)
}

/// Reach of 32-bit displacements, with a margin.
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

/// App addresses that code at any of these `distances` below `base` reaches. (It reaches those
/// below [`LOW`], too.)
#[must_use]
pub fn reached_from(base: u64, distances: (u64, u64)) -> Range<u64> {
    let places = [distances.0, distances.1].map(|distance| base.wrapping_sub(distance));
    let (lowest, highest) = (places[0].min(places[1]), places[0].max(places[1]));
    highest.saturating_sub(REACH - 1)..lowest.saturating_add(REACH - 1)
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
    use super::{FARTHEST, NEAREST, distances, holes, reached_from};
    use alloc::vec::Vec;

    #[test]
    fn code_reaches_all_of_its_image_however_large() {
        const BASE: u64 = 0x7f00_0000_0000;
        for extent in [0, 1 << 20, 175 << 20, 1 << 29, 1 << 30, 0x7000_0000] {
            let (near, far) = distances(extent);
            assert!(0 < near && near < far && far <= FARTHEST, "{extent:#x}");
            for at in [BASE, BASE + extent, BASE - near] {
                assert!(reached_from(BASE, (near, far)).contains(&at), "{extent:#x}");
            }
        }
        let usual = distances(100 << 20);
        assert_eq!((usual.0 > NEAREST, usual.1), (true, FARTHEST));
        assert!(!reached_from(BASE, usual).contains(&(BASE + (600 << 20))));
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
