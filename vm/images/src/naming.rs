//! Which image a mapping of a file is part of, and whether its code may be named in the
//! database (`ppin_persist::Segments` has the rule).
//!
//! The first executable mapping that is seen of a file is taken for its first executable
//! segment, which it nearly always is. The file's headers are read only when there is
//! reason to doubt: another mapping with another distance between address and file offset,
//! code that was met without a call that mapped it, something about to be saved.

use crate::image::{Image, Naming, path_among};
use crate::images::{Images, Named};
use alloc::borrow::Cow;
use alloc::vec;
use ppin_abi::addr::{AppPc, ImageBase};
use ppin_os::c;
use ppin_os::file::{File, Stat};
use ppin_os::maps::{self, MapEntry};
use ppin_os::place;
use ppin_persist::Segments;

/// What tells how the executable segments of the file at a path lie, if it is in this state:
/// `Ok(None)` if it has none, an error if it cannot be read.
type Headers = fn(&str, &Stat) -> Result<Option<Segments>, Unreadable>;

/// The headers cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unreadable;

impl Images {
    /// The image of `entry`. `doubtful`: its headers are looked at in any case.
    pub fn name(&mut self, entry: &MapEntry, file: Option<&Stat>, doubtful: bool) -> Named {
        self.name_by(entry, file, doubtful, headers)
    }

    fn name_by(
        &mut self,
        entry: &MapEntry,
        file: Option<&Stat>,
        doubtful: bool,
        headers: Headers,
    ) -> Named {
        let base = assumed(entry);
        let assumed = |naming| Named { base, naming };
        let Some(stat) = file else {
            return assumed(Naming::Assumed);
        };
        if !fits(base, entry) {
            let base = ImageBase(entry.start);
            let naming = Naming::Local;
            return Named { base, naming };
        }
        let mine = |i: &&Image| !i.gone && i.file == file.copied();
        let loads = || self.iter().map(|(_, image)| image).filter(mine);
        if let Some(same) = loads().find(|i| i.base == base) {
            return assumed(same.naming);
        }
        if !doubtful && loads().next().is_none() {
            return assumed(Naming::Assumed);
        }
        match headers(&path_of(entry), stat) {
            Err(Unreadable) => assumed(Naming::Local),
            Ok(None) => assumed(Naming::Checked),
            Ok(Some(segments)) => self.name_in(&segments, entry, stat),
        }
    }

    /// The same by the headers. Images of which they show that they began with another
    /// segment than the first are not kept.
    fn name_in(&mut self, segments: &Segments, entry: &MapEntry, stat: &Stat) -> Named {
        let base = assumed(entry);
        let shifted = |shift: u64| ImageBase(base.0.wrapping_sub(shift));
        let bases = || segments.shifts(entry.offset).map(shifted);
        let mine = |i: &Image| !i.gone && i.file == Some(*stat);
        let known = self
            .iter()
            .filter(|(_, i)| mine(i))
            .find_map(|(_, i)| bases().find(|base| i.base == *base));
        let named = known.or_else(|| bases().next()).unwrap_or(base);
        for (_, image) in self.iter_mut().filter(|(_, i)| i.file == Some(*stat)) {
            if segments.misleads(named.0, image.base.0) {
                image.naming = Naming::Local;
            }
        }
        match fits(named, entry) {
            true => Named {
                base: named,
                naming: Naming::Checked,
            },
            false => Named {
                base,
                naming: Naming::Local,
            },
        }
    }
}

/// The path of what `entry` describes, from the kernel's list if it is left open.
fn path_of(entry: &MapEntry) -> Cow<'_, str> {
    if !entry.path.is_empty() {
        return Cow::Borrowed(&entry.path);
    }
    let listed = maps::read().unwrap_or_default();
    Cow::Owned(path_among(&listed, entry.start))
}

/// As if the mapping were of the first executable segment.
fn assumed(entry: &MapEntry) -> ImageBase {
    ImageBase(entry.start.wrapping_sub(entry.offset))
}

/// Whether image offsets reach what is mapped, and it lies on the same side of the bound
/// below which code is addressed absolutely.
fn fits(base: ImageBase, entry: &MapEntry) -> bool {
    let near = |at: u64| AppPc(at).offset_from(base).is_some();
    let low = base.0 < place::LOW;
    near(entry.start) && near(entry.end) && low == (entry.end <= place::LOW)
}

/// Whether `image` may be kept under its base, which the headers now tell of.
pub fn check(image: &mut Image) -> bool {
    if let (Naming::Assumed, Some(stat)) = (image.naming, image.file) {
        image.naming = match headers(image.path(), &stat) {
            Ok(Some(segments)) if !is_first(&segments, image) => Naming::Local,
            _ => Naming::Checked,
        };
    }
    image.naming != Naming::Local
}

/// Whether its base is that of the first executable segment, or its code in none.
fn is_first(segments: &Segments, image: &Image) -> bool {
    let offset = image.span.0.wrapping_sub(image.base.0);
    let mut shifts = segments.shifts(offset).peekable();
    shifts.peek().is_none() || shifts.any(|shift| shift == 0)
}

/// See [`Headers`].
fn headers(path: &str, stat: &Stat) -> Result<Option<Segments>, Unreadable> {
    const TYPE: u32 = 0o170_000;
    const REGULAR: u32 = 0o100_000;
    // Reading from anything else might do something.
    if stat.mode & TYPE != REGULAR {
        return Err(Unreadable);
    }
    let flags = c::O_RDONLY | c::O_NONBLOCK;
    let file = File::open(path, flags, 0).map_err(|_| Unreadable)?;
    let same = || file.stat().is_ok_and(|now| now == *stat);
    if !same() {
        return Err(Unreadable);
    }
    let mut head = [0; Segments::HEAD];
    let read = file.read_at(&mut head, 0).map_err(|_| Unreadable)?;
    let Some(range) = Segments::table(&head[..read]) else {
        return Ok(None);
    };
    let mut table = vec![0; (range.end - range.start) as usize];
    let read = file.read_at(&mut table, range.start);
    match read.map_err(|_| Unreadable)? {
        len if len == table.len() && same() => Ok(Segments::parse(&table)),
        _ => Err(Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImageId;

    const LOAD: u64 = 0x7f00_0000_0000;
    const FILE: Stat = Stat {
        dev: 1,
        ino: 2,
        mode: 0o100_755,
        uid: 0,
        size: 0x20_0000,
        mtime: (0, 0),
        ctime: (0, 0),
    };

    /// Two executable segments: file offset 0x1000 at 0x2000, 0x10_0000 at 0x10_0000.
    fn two(_: &str, _: &Stat) -> Result<Option<Segments>, Unreadable> {
        let row = |offset: u64, address: u64| {
            let mut row = [0; 56];
            (row[0], row[4]) = (1, 5);
            row[8..16].copy_from_slice(&offset.to_le_bytes());
            row[16..24].copy_from_slice(&address.to_le_bytes());
            row[32..40].copy_from_slice(&0x8000u64.to_le_bytes());
            row
        };
        let table = [row(0x1000, 0x2000), row(0x10_0000, 0x10_0000)].concat();
        Ok(Segments::parse(&table))
    }

    fn nothing_to_read(_: &str, _: &Stat) -> Result<Option<Segments>, Unreadable> {
        Err(Unreadable)
    }

    fn not_needed(_: &str, _: &Stat) -> Result<Option<Segments>, Unreadable> {
        panic!("the headers are not needed")
    }

    fn mapped(start: u64, offset: u64) -> MapEntry {
        MapEntry {
            start,
            end: start + 0x8000,
            offset,
            ..MapEntry::default()
        }
    }

    fn first(load: u64) -> MapEntry {
        mapped(load + 0x2000, 0x1000)
    }

    fn second(load: u64) -> MapEntry {
        mapped(load + 0x10_0000, 0x10_0000)
    }

    fn add(images: &mut Images, entry: &MapEntry, headers: Headers) -> ImageId {
        let named = images.name_by(entry, Some(&FILE), false, headers);
        images.add(entry, Some(FILE), named)
    }

    #[test]
    fn segments_of_one_load_are_one_image_and_loads_are_several() {
        let mut images = Images::default();
        let one = add(&mut images, &first(LOAD), not_needed);
        assert_eq!(images.get(one).naming, Naming::Assumed);
        assert_eq!(add(&mut images, &second(LOAD), two), one);
        assert_eq!(images.get(one).base, ImageBase(LOAD + 0x1000));
        assert_eq!(images.get(one).naming, Naming::Checked);
        assert_eq!(images.get(one).span, (LOAD + 0x2000, LOAD + 0x10_8000));
        let other = add(&mut images, &first(LOAD - 0x100_0000), two);
        assert_ne!(other, one);
        assert_eq!(add(&mut images, &second(LOAD - 0x100_0000), two), other);
        // A piece of a segment, mapped or protected anew.
        assert_eq!(
            add(&mut images, &mapped(LOAD + 0x4000, 0x3000), not_needed),
            one
        );
        assert_eq!(
            add(&mut images, &mapped(LOAD + 0x10_3000, 0x10_3000), two),
            one
        );
        assert_eq!(images.len(), 2);
    }

    #[test]
    fn a_later_segment_that_comes_first_is_named_for_this_process() {
        let mut images = Images::default();
        let late = add(&mut images, &second(LOAD), not_needed);
        let early = add(&mut images, &first(LOAD), two);
        assert_ne!(late, early);
        assert_eq!(images.get(late).naming, Naming::Local);
        assert_eq!(images.get(early).naming, Naming::Checked);
        assert_eq!(images.get(early).base, ImageBase(LOAD + 0x1000));
    }

    #[test]
    fn a_doubtful_one_is_looked_at() {
        let mut images = Images::default();
        let named = images.name_by(&second(LOAD), Some(&FILE), true, two);
        assert_eq!(named.base, ImageBase(LOAD + 0x1000));
        let named = images.name_by(&second(LOAD), Some(&FILE), true, nothing_to_read);
        assert_eq!(named.naming, Naming::Local);
    }

    #[test]
    fn what_is_out_of_reach_of_its_offset_is_named_for_this_process() {
        let mut images = Images::default();
        let far = mapped(LOAD, 3 << 30);
        let named = images.name_by(&far, Some(&FILE), false, not_needed);
        let expected = Named {
            base: ImageBase(LOAD),
            naming: Naming::Local,
        };
        assert_eq!(named, expected);
        // On the other side of what absolute addresses reach.
        let across = mapped(place::LOW + 0x1000, 0x2000);
        let named = images.name_by(&across, Some(&FILE), false, not_needed);
        assert_eq!(named.base, ImageBase(across.start));
    }
}
