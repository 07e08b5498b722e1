//! The code of an image, by image offset.

use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::{ImageBase, ImageOff, ImageRange};
use ppin_persist::{Segments, code_at};

/// An image file's contents, and the base at which its code is assumed to lie.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    bytes: &'a [u8],
    segments: Option<Segments>,
    base: ImageBase,
    /// Its code, by image offset.
    code: Vec<Stretch<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Stretch<'a> {
    start: i32,
    bytes: &'a [u8],
}

impl Stretch<'_> {
    /// How far into it `off` lies.
    fn distance(&self, off: ImageOff) -> Option<usize> {
        let distance = usize::try_from(i64::from(off.0) - i64::from(self.start)).ok()?;
        (distance < self.bytes.len()).then_some(distance)
    }
}

impl<'a> Image<'a> {
    /// The image that these bytes are. Without executable segments it has no code to walk in.
    #[must_use]
    pub fn new(bytes: &'a [u8], base: ImageBase) -> Self {
        let segments = Segments::of_file(bytes);
        let code = segments.iter().flat_map(Segments::code);
        let code = code.filter_map(|(start, range)| stretch(bytes, start, range));
        Self {
            bytes,
            base,
            code: code.collect(),
            segments,
        }
    }

    /// Address of image offset 0.
    #[must_use]
    pub const fn base(&self) -> ImageBase {
        self.base
    }

    /// The part that the loader makes read-only.
    #[must_use]
    pub fn sealed(&self) -> ImageRange {
        let segments = self.segments.as_ref();
        segments.map_or(ImageRange::NONE, Segments::sealed)
    }

    /// The code from `off` to the end of its segment; `None` if none lies there.
    #[must_use]
    pub fn code_from(&self, off: ImageOff) -> Option<&'a [u8]> {
        let found = self.code.iter().find_map(|s| Some((s, s.distance(off)?)))?;
        found.0.bytes.get(found.1..)
    }

    /// The `len` bytes that a mapping of the file has at `off`, in whichever segment.
    #[must_use]
    pub fn bytes_at(&self, off: ImageOff, len: u32) -> Option<&'a [u8]> {
        code_at(self.bytes, self.segments.as_ref(), off.0, len)
    }
}

/// What the file has of a segment, if its offsets can be expressed.
fn stretch(bytes: &[u8], start: i64, range: Range<u64>) -> Option<Stretch<'_>> {
    let end = range.end.min(bytes.len() as u64);
    let bytes = bytes.get(usize::try_from(range.start).ok()?..usize::try_from(end).ok()?)?;
    let start = i32::try_from(start).ok()?;
    Some(Stretch { start, bytes })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::vec;

    /// File offset of the code of [`file`].
    pub(crate) const AT: usize = 0x1000;

    /// An ELF file whose one executable segment holds `code`, 0x2000 above its file offset.
    pub(crate) fn file(code: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; AT];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[16], bytes[18]) = (3, 62);
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        (bytes[54], bytes[56]) = (56, 1);
        let words = [AT as u64, 0x3000, 0, code.len() as u64];
        bytes[64..72].copy_from_slice(&[1, 0, 0, 0, 5, 0, 0, 0]);
        for (n, word) in words.into_iter().enumerate() {
            bytes[72 + 8 * n..80 + 8 * n].copy_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(code);
        bytes
    }

    #[test]
    fn code_is_named_by_image_offset_and_ends_with_its_segment() {
        let mut file = file(&[1, 2, 3]);
        file.push(4);
        let image = Image::new(&file, ImageBase(0x5000));
        let from = |off: usize| image.code_from(ImageOff(off as i32));
        assert_eq!(from(AT + 1), Some(&[2, 3][..]));
        assert_eq!((from(AT - 1), from(AT + 3)), (None, None));
        assert_eq!(
            image.bytes_at(ImageOff(AT as i32 + 2), 2),
            Some(&[3, 4][..])
        );
    }

    #[test]
    fn a_cut_file_has_what_is_left_of_its_code() {
        let file = file(&[1, 2, 3]);
        let cut = Image::new(&file[..AT + 1], ImageBase(0));
        assert_eq!(cut.code_from(ImageOff(AT as i32)), Some(&[1][..]));
        let gone = Image::new(&file[..AT], ImageBase(0));
        assert_eq!(gone.code_from(ImageOff(AT as i32)), None);
        let other = Image::new(b"no image at all", ImageBase(0));
        assert_eq!(other.code_from(ImageOff(0)), None);
    }
}
