//! What the app has mapped executable, and which file each piece comes from.
//!
//! A *region* is a stretch of executable app memory with one protection. An *image*
//! is one load of one file with all its segments ([`naming`] tells loads apart).
//! Regions are learned from the app's own `mmap` calls, and from the kernel's list
//! when the app jumps to an address that we have not met.

pub mod maps;
pub mod naming;
pub mod unlisted;

use crate::sys::file::Stat;
use alloc::string::String;
use alloc::vec::Vec;
use maps::MapEntry;
use naming::{Named, Naming};
use ppin_abi::addr::{AppPc, ImageBase};

/// Pseudo-path of addresses without memory.
const NOWHERE: &str = "[nowhere]";

/// Number of an image, dense from 0, never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ImageId(pub u32);

/// One load of one file, or a stretch of code without a file.
#[derive(Debug)]
pub struct Image {
    /// Path as the kernel gives it; `[vdso]`, or empty for anonymous memory.
    pub path: String,
    /// The file's state when it was mapped; `None` without a file.
    pub file: Option<Stat>,
    /// Address of image offset 0.
    pub base: ImageBase,
    /// Whether code may be kept under offsets from there.
    pub naming: Naming,
    /// First and last address seen mapped.
    pub span: (u64, u64),
    /// Restored code of this image.
    pub units: Vec<crate::restore::Bound>,
    /// Units that were found damaged: the next writer removes them.
    pub damaged: Vec<ppin_persist::paths::UnitName>,
    /// The database has been asked for units.
    pub asked: bool,
    /// What its executed branches did not do has been looked at, or is not this
    /// process's to look at (see `spool::anticipate`).
    pub explored: bool,
    /// See `ppin_persist::identity`; once known.
    pub identity: Option<[u8; 32]>,
    /// Displacement from `gs` of this image's tool counters.
    pub counters: u64,
    /// App addresses whose persisted translation must not be used, start and end.
    pub off_limits: Vec<(u64, u64)>,
    /// Unmapped again.
    pub gone: bool,
}

impl Image {
    /// Whether it is memory without a file and `entry` lies where code of it has been
    /// before: generators of code protect pieces of their memory again and again.
    fn has_generated(&self, entry: &MapEntry) -> bool {
        let anonymous = maps::is_anonymous(&self.path) && maps::is_anonymous(&entry.path);
        let base = ImageBase(entry.start.wrapping_sub(entry.offset));
        let same = self.path == entry.path && self.base == base;
        let within = self.span.0 <= entry.start && entry.end <= self.span.1;
        (anonymous || same) && within
    }

    /// Whether it stands for addresses without memory.
    #[must_use]
    pub fn is_nowhere(&self) -> bool {
        self.path == NOWHERE
    }

    /// Whether code can be placed near it: not so near addresses without memory, nor near
    /// those of the kernel, whose vsyscall page programs may call.
    #[must_use]
    pub fn has_surroundings(&self) -> bool {
        const KERNEL: u64 = 1 << 47;
        !self.is_nowhere() && self.base.0 < KERNEL
    }

    /// Whether persisted code made from `start .. end` must not be used.
    #[must_use]
    pub fn is_off_limits(&self, start: u64, end: u64) -> bool {
        self.off_limits.iter().any(|r| r.0 < end && start < r.1)
    }
}

/// See the module.
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

/// All regions, ascending, and all images.
#[derive(Debug, Default)]
pub struct Images {
    regions: Vec<Region>,
    /// Generated code that cannot be executed now, but may be again without being mapped
    /// anew.
    parked: Vec<Region>,
    /// For the time when the kernel's list cannot be read.
    pub shared: unlisted::SharedMemory,
    /// Images that have lost a region since [`Images::reap`].
    losing: Vec<ImageId>,
    /// The image whose units are in [`Images::hand`].
    in_hand: Option<ImageId>,
    /// Units that are being worked on, where they are found should who does it be killed.
    hand: Vec<crate::restore::Bound>,
    /// By [`ImageId`].
    pub all: Vec<Image>,
}

impl Images {
    /// The region that holds `pc`.
    #[must_use]
    pub fn region(&self, pc: AppPc) -> Option<Region> {
        let after = self.regions.partition_point(|r| r.start <= pc.0);
        let region = self.regions.get(after.checked_sub(1)?)?;
        (pc.0 < region.end).then_some(*region)
    }

    /// Image by number.
    #[must_use]
    pub fn get(&self, id: ImageId) -> &Image {
        &self.all[id.0 as usize]
    }

    /// Image by number.
    pub fn get_mut(&mut self, id: ImageId) -> &mut Image {
        &mut self.all[id.0 as usize]
    }

    /// Works on the units of an image.
    pub fn with_units<T>(
        &mut self,
        id: ImageId,
        work: impl FnOnce(&Image, &mut Vec<crate::restore::Bound>) -> T,
    ) -> T {
        self.in_hand = Some(id);
        core::mem::swap(&mut self.hand, &mut self.all[id.0 as usize].units);
        let result = work(&self.all[id.0 as usize], &mut self.hand);
        self.take_in_hand_back();
        result
    }

    /// What was in hand is where it belongs.
    pub fn take_in_hand_back(&mut self) {
        let Some(id) = self.in_hand.filter(|_| !self.hand.is_empty()) else {
            return;
        };
        core::mem::swap(&mut self.hand, &mut self.all[id.0 as usize].units);
        self.in_hand = None;
    }

    /// Adds executable memory as described by `entry`, replacing what was known of
    /// that range, to the image that [`Images::name`] gives.
    pub fn add(&mut self, entry: &MapEntry, file: Option<Stat>, named: Named) -> ImageId {
        self.remove(entry.start, entry.end);
        let image = self.image_for(entry, file, named);
        let region = Region {
            start: entry.start,
            end: entry.end,
            image,
            writable: entry.writable,
            shared: entry.shared,
        };
        insert(&mut self.regions, region);
        let span = &mut self.get_mut(image).span;
        *span = (span.0.min(entry.start), span.1.max(entry.end));
        image
    }

    fn image_for(&mut self, entry: &MapEntry, file: Option<Stat>, named: Named) -> ImageId {
        let Named { base, naming } = named;
        let same = |i: &Image| {
            let known = i.base == base && i.file == file && file.is_some();
            let generated = i.file.is_none() && file.is_none() && i.has_generated(entry);
            !i.gone && (known || generated)
        };
        if let Some(found) = self.all.iter().position(same) {
            self.all[found].naming = naming;
            return ImageId(found as u32);
        }
        self.all.push(Image {
            path: entry.path.clone(),
            file,
            base,
            naming,
            span: (entry.start, entry.end),
            units: Vec::new(),
            damaged: Vec::new(),
            asked: false,
            explored: true,
            identity: None,
            counters: 0,
            off_limits: Vec::new(),
            gone: false,
        });
        ImageId(self.all.len() as u32 - 1)
    }

    /// An image for an address where nothing is: what is compiled there only says so.
    pub fn nowhere(&mut self, pc: AppPc) -> ImageId {
        let start = crate::sys::mem::page_down(pc.0);
        let entry = MapEntry {
            start,
            end: start + crate::sys::mem::PAGE,
            ..MapEntry::default()
        };
        let here = |i: &Image| i.is_nowhere() && i.base.0 == start;
        if let Some(found) = self.all.iter().position(here) {
            return ImageId(found as u32);
        }
        let named = self.name(&entry, None, false);
        let id = self.image_for(&entry, None, named);
        let image = self.get_mut(id);
        image.path = String::from(NOWHERE);
        // Its code refers to nothing in the app: any place will do.
        image.span = (0, 0);
        id
    }

    /// Forgets the range: it was unmapped, replaced, or is not executable any more.
    pub fn remove(&mut self, start: u64, end: u64) {
        for regions in [&mut self.regions, &mut self.parked] {
            let lost = cut(regions, start, end);
            self.losing.extend(lost.iter().map(|r| r.image));
        }
    }

    /// The range is about to be protected anew: it cannot be executed until
    /// [`Images::unpark`].
    pub fn park(&mut self, start: u64, end: u64) {
        let lost = cut(&mut self.regions, start, end);
        self.parked.extend(lost);
    }

    /// The range can be executed, and be written to or not: what was known of it before
    /// holds but for that.
    pub fn unpark(&mut self, start: u64, end: u64, writable: bool) {
        for region in cut(&mut self.parked, start, end) {
            insert(&mut self.regions, Region { writable, ..region });
        }
    }

    /// Whether the range has code of a file.
    #[must_use]
    pub fn has_files(&self, start: u64, end: u64) -> bool {
        let mut there = self
            .regions
            .iter()
            .filter(|r| r.start < end && start < r.end);
        there.any(|r| self.get(r.image).file.is_some())
    }

    /// Whether anything is parked in the range.
    #[must_use]
    pub fn is_parked(&self, start: u64, end: u64) -> bool {
        self.parked.iter().any(|r| r.start < end && start < r.end)
    }

    /// Whether any executable memory is known in the range.
    #[must_use]
    pub fn overlaps(&self, start: u64, end: u64) -> bool {
        let after = self.regions.partition_point(|r| r.start < end);
        after
            .checked_sub(1)
            .is_some_and(|n| self.regions[n].end > start)
    }

    /// Images of which no region is left, marked as gone by this call.
    pub fn reap(&mut self) -> Vec<ImageId> {
        let mut gone = Vec::new();
        for id in core::mem::take(&mut self.losing) {
            let image = &mut self.all[id.0 as usize];
            let mut left = self.regions.iter().chain(&self.parked);
            if !image.gone && !left.any(|r| r.image == id) {
                image.gone = true;
                gone.push(id);
            }
        }
        gone
    }
}

/// Takes `start .. end` out of `regions`; what lay there.
fn cut(regions: &mut Vec<Region>, start: u64, end: u64) -> Vec<Region> {
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
fn insert(regions: &mut Vec<Region>, mut region: Region) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(regions: &[Region]) -> Vec<(u64, u64)> {
        regions.iter().map(|r| (r.start, r.end)).collect()
    }

    #[test]
    fn what_is_parked_comes_back_in_one_piece() {
        let mut images = Images::default();
        let entry = MapEntry {
            start: 0x1000,
            end: 0x9000,
            ..MapEntry::default()
        };
        let named = images.name(&entry, None, false);
        let id = images.add(&entry, None, named);
        images.park(0x3000, 0x5000);
        assert_eq!(spans(&images.regions), [(0x1000, 0x3000), (0x5000, 0x9000)]);
        images.park(0x5000, 0x6000);
        images.unpark(0x3000, 0x4000, true);
        images.unpark(0x4000, 0x8000, false);
        assert_eq!(
            spans(&images.regions),
            [(0x1000, 0x3000), (0x3000, 0x4000), (0x4000, 0x9000)]
        );
        images.park(0x3000, 0x4000);
        images.unpark(0, u64::MAX, false);
        assert_eq!(spans(&images.regions), [(0x1000, 0x9000)]);
        images.park(0, u64::MAX);
        images.remove(0, u64::MAX);
        assert_eq!(images.reap(), [id]);
    }
}
