//! Stretches of executable app memory.

use crate::image::ImageId;
use alloc::vec::Vec;

/// Executable app memory with one protection.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// First address.
    pub start: u64,
    /// Behind the last.
    pub end: u64,
    /// Image it belongs to.
    pub image: ImageId,
    /// The app may write to it.
    pub writable: bool,
    /// Stores through another mapping may change it unseen.
    pub shared: bool,
}

/// Takes `start .. end` out of `regions`; what lay there.
pub(crate) fn cut(regions: &mut Vec<Region>, start: u64, end: u64) -> Vec<Region> {
    let (mut lost, mut left) = (Vec::new(), Vec::new());
    regions.retain(|r| {
        let clear = r.end <= start || r.start >= end;
        if !clear {
            left.extend((r.start < start).then_some(Region { end: start, ..*r }));
            left.extend((r.end > end).then_some(Region { start: end, ..*r }));
            lost.push(Region {
                start: r.start.max(start),
                end: r.end.min(end),
                ..*r
            });
        }
        clear
    });
    for piece in left {
        insert(regions, piece);
    }
    lost
}

/// Keeps `regions` ascending, and those that are one to the kernel in one: instructions may
/// lie across.
pub(crate) fn insert(regions: &mut Vec<Region>, mut region: Region) {
    let goes_on = |a: &Region, b: &Region| {
        let kind = |r: &Region| (r.image, r.writable, r.shared);
        a.end == b.start && kind(a) == kind(b)
    };
    let mut at = regions.partition_point(|r| r.start < region.start);
    if regions.get(at).is_some_and(|next| goes_on(&region, next)) {
        region.end = regions.remove(at).end;
    }
    if at > 0 && goes_on(&regions[at - 1], &region) {
        at -= 1;
        region.start = regions.remove(at).start;
    }
    regions.insert(at, region);
}
