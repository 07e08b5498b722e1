//! All images, and the regions that they have.

use crate::cells::Supply;
use crate::home::Home;
use crate::image::{Asked, Image, ImageId, NOWHERE, Naming, path_among};
use crate::regions::{Region, cut, insert};
use crate::unlisted::SharedMemory;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;
use ppin_abi::addr::{AppPc, ImageBase, ImageRange};
use ppin_os::file::Stat;
use ppin_os::maps::{self, MapEntry};

/// The base of the image that a mapping is part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Named {
    /// Of this or of a new image.
    pub base: ImageBase,
    /// How it was found.
    pub naming: Naming,
}

/// All regions, ascending, and all images.
#[derive(Debug, Default)]
pub struct Images {
    regions: Vec<Region>,
    /// Generated code that cannot be executed now, but may be again without being mapped
    /// anew.
    parked: Vec<Region>,
    /// For the time when the kernel's list cannot be read.
    shared: SharedMemory,
    /// Images that have lost a region since [`Images::reap`].
    losing: Vec<ImageId>,
    /// By [`ImageId`].
    all: Vec<Image>,
    /// Cells for bundled counts of their code.
    cells: Supply,
    /// That of the program itself, if it is known.
    program: Option<ImageId>,
    /// None of them is this process's to explore.
    explored: bool,
}

impl Images {
    /// The region that holds `pc`.
    #[must_use]
    pub fn region(&self, pc: AppPc) -> Option<Region> {
        let after = self.regions.partition_point(|r| r.start <= pc.0);
        let region = self.regions.get(after.checked_sub(1)?)?;
        (pc.0 < region.end).then_some(*region)
    }

    /// The image of the program itself, if it is known.
    #[must_use]
    pub fn program(&self) -> Option<ImageId> {
        self.program
    }

    /// The program begins at `entry`.
    pub fn set_program(&mut self, entry: AppPc) {
        self.program = self.region(entry).map(|region| region.image);
    }

    /// Image by number.
    #[must_use]
    pub fn get(&self, id: ImageId) -> &Image {
        &self.all[id.0 as usize]
    }

    /// Cells for bundled counts.
    pub fn cells(&self) -> &Supply {
        &self.cells
    }

    /// The same, to provide them.
    pub fn cells_mut(&mut self) -> &mut Supply {
        &mut self.cells
    }

    /// Image by number, with the regions of all.
    pub fn home(&self, id: ImageId) -> Home<'_> {
        Home::new(self.get(id), self)
    }

    /// Whether code in `start .. end` may change without a call of the app's: the app may write
    /// to it, or others through another mapping. What is in no region is not known: the app has changed its rights, and
    /// has not executed it since.
    #[must_use]
    pub fn may_change(&self, start: u64, end: u64) -> bool {
        let first = self.regions.partition_point(|r| r.end <= start);
        let here = self.regions[first..].iter().take_while(|r| r.start < end);
        let steady = here.filter(|r| !r.writable && !r.shared);
        let known = steady.fold(
            start,
            |known, r| if r.start <= known { r.end } else { known },
        );
        known < end
    }

    /// The tool's counters of image `id` lie at displacement `counters` from `gs`.
    pub fn set_counters(&mut self, id: ImageId, counters: u64) {
        self.get_mut(id).counters = counters;
    }

    /// Image by number.
    pub fn get_mut(&mut self, id: ImageId) -> &mut Image {
        &mut self.all[id.0 as usize]
    }

    /// How many images there have been.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there has been none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Their numbers.
    pub fn ids(&self) -> impl Iterator<Item = ImageId> + use<> {
        (0..self.all.len() as u32).map(ImageId)
    }

    /// All images, those that are gone included.
    pub fn iter(&self) -> impl Iterator<Item = (ImageId, &Image)> {
        (0u32..).map(ImageId).zip(&self.all)
    }

    /// Numbers of those that are not gone.
    pub fn present(&self) -> Vec<ImageId> {
        let present = self.iter().filter(|(_, image)| !image.gone);
        present.map(|(id, _)| id).collect()
    }

    /// All images, to work on.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (ImageId, &mut Image)> {
        (0u32..).map(ImageId).zip(&mut self.all)
    }

    /// What was persisted of `start .. end` must not be used.
    pub fn put_off_limits(&mut self, start: u64, end: u64) {
        let here = |image: &&mut Image| !image.gone && image.span.0 < end && start < image.span.1;
        for image in self.all.iter_mut().filter(here) {
            image.off_limits.push((start, end));
        }
    }

    /// No image is to be explored by this process.
    pub fn mark_explored(&mut self) {
        self.explored = true;
    }

    /// Whether the other sides of the executed branches of image `id` have been translated, or are for
    /// another process to translate.
    #[must_use]
    pub fn is_explored(&self, id: ImageId) -> bool {
        self.explored || self.get(id).explored
    }

    /// The kernel's list can be read for the last time: see [`SharedMemory`].
    pub fn learn_shared(&mut self) {
        self.shared.learn();
        self.learn_paths();
    }

    /// Asks for the paths of all images at once, since those of many will be needed.
    pub fn learn_paths(&self) {
        let unknown = |image: &&Image| image.path.get().is_none();
        if self.all.iter().any(|image| unknown(&image)) {
            let listed = maps::read().unwrap_or_default();
            for image in self.all.iter().filter(unknown) {
                image.path.get_or_init(|| path_among(&listed, image.span.0));
            }
        }
    }

    /// `start .. end` is shared memory.
    pub fn add_shared(&mut self, start: u64, end: u64) {
        self.shared.add(start, end);
    }

    /// Memory that was made executable just now, as the kernel's list would have it.
    #[must_use]
    pub fn unlisted(&self, start: u64, end: u64, writable: bool) -> MapEntry {
        self.shared.entry(start, end, writable)
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
            path: known_path(entry, file.is_some()),
            file,
            base,
            naming,
            span: (entry.start, entry.end),
            damaged: Vec::new(),
            asked: Asked::Nothing,
            explored: true,
            identity: None,
            counters: 0,
            off_limits: Vec::new(),
            crowded: false,
            gone: false,
        });
        ImageId(self.all.len() as u32 - 1)
    }

    /// An image for an address where nothing is: what is compiled there only says so.
    pub fn nowhere(&mut self, pc: AppPc) -> ImageId {
        let start = ppin_os::mem::page_down(pc.0);
        let entry = MapEntry {
            start,
            end: start + ppin_os::mem::PAGE,
            ..MapEntry::default()
        };
        let here = |i: &Image| i.is_nowhere() && i.base.0 == start;
        if let Some(found) = self.all.iter().position(here) {
            return ImageId(found as u32);
        }
        let named = self.name(&entry, None, false);
        let id = self.image_for(&entry, None, named);
        let image = self.get_mut(id);
        image.path = OnceCell::from(String::from(NOWHERE));
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

    /// The image of a file whose data `start .. end` are likely to be: it follows its code.
    pub fn of_data(&self, start: u64, end: u64) -> Option<ImageId> {
        let after = self.regions.partition_point(|r| r.start <= start);
        let id = self.regions.get(after.checked_sub(1)?)?.image;
        let image = self.get(id);
        let near = ImageRange::of(image.base, start, end).is_some();
        (near && image.file.is_some()).then_some(id)
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

/// The path that `entry` has; unknown if it has none, and is a file.
fn known_path(entry: &MapEntry, is_file: bool) -> OnceCell<String> {
    if is_file && entry.path.is_empty() {
        return OnceCell::new();
    }
    OnceCell::from(entry.path.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(regions: &[Region]) -> Vec<(u64, u64)> {
        regions.iter().map(|r| (r.start, r.end)).collect()
    }

    #[test]
    fn a_path_is_taken_over_where_the_file_is_the_one_that_is_mapped() {
        const OURS: &str = "Cargo.toml";
        let stat = ppin_os::file::stat_of(OURS).expect("tests run in the crate's folder");
        let mut images = Images::default();
        let entry = MapEntry {
            start: 0x1000,
            end: 0x9000,
            ..MapEntry::default()
        };
        let named = Named {
            base: ImageBase(0x1000),
            naming: Naming::Checked,
        };
        let id = images.add(&entry, Some(stat), named);
        let image = images.get(id);
        for other in [&b"src/lib.rs"[..], b"no such file", b"\xff"] {
            assert!(!image.lies_at(other) && !image.knows_path());
        }
        assert!(image.lies_at(OURS.as_bytes()));
        assert_eq!(image.path(), OURS);
        assert!(!image.lies_at(b"src/lib.rs"));
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
        for (start, end, may) in [
            (0x1000, 0x3000, false),
            (0x2fff, 0x3001, true),
            (0x3000, 0x3001, true),
            (0x4fff, 0x5001, true),
            (0x5000, 0x9000, false),
            (0x8fff, 0x9001, true),
        ] {
            assert_eq!(images.may_change(start, end), may, "{start:#x}");
        }
        images.park(0x5000, 0x6000);
        images.unpark(0x3000, 0x4000, true);
        images.unpark(0x4000, 0x8000, false);
        assert_eq!(
            spans(&images.regions),
            [(0x1000, 0x3000), (0x3000, 0x4000), (0x4000, 0x9000)]
        );
        assert!(images.may_change(0x2fff, 0x3001), "it can be written to");
        assert!(!images.may_change(0x4000, 0x9000));
        images.park(0x3000, 0x4000);
        images.unpark(0, u64::MAX, false);
        assert_eq!(spans(&images.regions), [(0x1000, 0x9000)]);
        images.park(0, u64::MAX);
        images.remove(0, u64::MAX);
        assert_eq!(images.reap(), [id]);
    }
}
