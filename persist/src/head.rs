//! The head of a file: sizes only. Nothing of it is believed yet.

use crate::checksum;
use crate::layout::{CHECKSUM_AT, FORMAT_VERSION, GROUP_REC_LEN, HEADER_LEN, MAGIC, SectionId};
use crate::record::{ENTRANCES, EXPLORED, HAS_ABSOLUTE, HeaderRec, Record};
use crate::{Key, Reject};
use core::ops::Range;
use ppin_abi::addr::ImageBase;
use ppin_abi::area::LAYOUT_VERSION;

/// Sizes and places that are needed to map a unit. Ranges are in bytes of the file, within
/// its length, and page-aligned at their start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Length of the file.
    pub file_len: u64,
    /// Address of the hot section minus image base, as laid out.
    pub displacement: i64,
    /// The image base that its absolute 32-bit fields hold, if there are any.
    pub absolute_for: Option<ImageBase>,
    /// See [`crate::UnitSpec::explored`].
    pub explored: bool,
    /// See [`crate::UnitSpec::entrances`].
    pub entrances: bool,
    /// Hot section. All before it are tables.
    pub hot: Range<u64>,
    /// Cold section.
    pub cold: Range<u64>,
    /// Slots, but for those of exits.
    pub slots: Range<u64>,
    /// Slots of exits: the end of the file.
    pub exit_slots: Range<u64>,
    /// Key claimed by the header; not verified yet.
    pub key: Key,
    /// Number of fragments.
    pub fragments: u32,
    /// Length of the head: what [`Head::verify`] needs.
    pub head_len: u64,
}

/// The head of a unit, verified: all that a catalog wants to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head<'a> {
    /// Where its parts lie.
    pub geometry: Geometry,
    /// Checksum of the head and so, through the checksums in it, of the whole file.
    pub checksum: u64,
    /// Path of the image as the writer knew it.
    pub image_path: &'a [u8],
    /// The tool and its knobs as the writer knew them.
    pub label: &'a [u8],
}

impl<'a> Head<'a> {
    /// Reads the first [`Geometry::head_len`] bytes or more of a file.
    ///
    /// # Errors
    /// The bytes are no unit's head, or a damaged one.
    pub fn verify(start: &'a [u8], file_len: u64) -> Result<Self, Reject> {
        let header = parse(start, file_len)?;
        let head = start
            .get(..header.head_len as usize)
            .ok_or(Reject::TooShort)?;
        if checksum::head(head, CHECKSUM_AT) != Some(header.checksum) {
            return Err(Reject::Head);
        }
        let (image_path, label) = text(&header, head).ok_or(Reject::Impossible)?;
        Ok(Self {
            geometry: geometry(&header),
            checksum: header.checksum,
            image_path,
            label,
        })
    }
}

/// The end of the head: path, then label.
pub(crate) fn text<'a>(header: &HeaderRec, start: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let path_len = header.path_len as usize;
    let end = header.head_len as usize;
    let at = end
        .checked_sub(path_len)?
        .checked_sub(usize::from(header.label_len))?;
    start.get(at..end)?.split_at_checked(path_len)
}

impl Geometry {
    /// Reads it from the first [`HEADER_LEN`] bytes or more of a file. Not verified:
    /// good enough to choose a place for the mapping.
    ///
    /// # Errors
    /// The bytes do not begin a unit of this version, or its length is wrong.
    pub fn peek(start: &[u8], file_len: u64) -> Result<Self, Reject> {
        Ok(geometry(&parse(start, file_len)?))
    }

    /// Where the hot section was meant to lie for an image at `base`.
    #[must_use]
    pub const fn preferred_hot(&self, base: ImageBase) -> u64 {
        base.0.wrapping_add(self.displacement as u64)
    }

    /// Whether the code can run as it is with its hot section at `hot` and the image
    /// at `base`; else its app fields must be written first.
    #[must_use]
    pub fn fits(&self, hot: u64, base: ImageBase) -> bool {
        hot == self.preferred_hot(base) && self.absolute_for.is_none_or(|made| made == base)
    }
}

/// Checksum claimed by the head of a file; not verified. It covers the head and, through the
/// checksums in it, the whole file.
#[must_use]
pub fn head_checksum(start: &[u8], file_len: u64) -> Option<u64> {
    Some(parse(start, file_len).ok()?.checksum)
}

pub(crate) fn geometry(header: &HeaderRec) -> Geometry {
    let range = |section: SectionId| {
        let section = header.sections[section as usize];
        let start = u64::from(section.offset);
        start..start + u64::from(section.len)
    };
    Geometry {
        file_len: header.file_len,
        displacement: header.displacement,
        absolute_for: (header.flags & HAS_ABSOLUTE != 0).then_some(ImageBase(header.abs_base)),
        explored: header.flags & EXPLORED != 0,
        entrances: header.flags & ENTRANCES != 0,
        hot: range(SectionId::Hot),
        cold: range(SectionId::Cold),
        slots: range(SectionId::Slots),
        exit_slots: range(SectionId::ExitSlots),
        key: key(header),
        fragments: header.fragments,
        head_len: u64::from(header.head_len),
    }
}

pub(crate) fn key(header: &HeaderRec) -> Key {
    Key {
        image: header.image,
        engine: header.engine,
        tool: header.tool,
    }
}

pub(crate) fn parse(start: &[u8], file_len: u64) -> Result<HeaderRec, Reject> {
    if !start.starts_with(&MAGIC) {
        let known = MAGIC.get(..start.len().min(MAGIC.len()));
        let cut = known.is_some_and(|known| start.starts_with(known)) && start.len() < MAGIC.len();
        return Err(if cut {
            Reject::TooShort
        } else {
            Reject::NotAUnit
        });
    }
    let fixed = start.get(..HEADER_LEN).ok_or(Reject::TooShort)?;
    let header = HeaderRec::get(fixed).ok_or(Reject::TooShort)?;
    if header.format != FORMAT_VERSION {
        return Err(Reject::Format {
            found: header.format,
        });
    }
    if header.layout != LAYOUT_VERSION {
        return Err(Reject::Layout {
            found: header.layout,
        });
    }
    if header.file_len != file_len {
        return Err(Reject::Length {
            recorded: header.file_len,
            found: file_len,
        });
    }
    if possible(&header).is_none() {
        return Err(Reject::Impossible);
    }
    Ok(header)
}

/// Sections follow each other within the file, aligned, with whole records in the
/// right number; the head has room for its tables.
fn possible(header: &HeaderRec) -> Option<()> {
    let fragments = header.fragments as usize;
    let mut at = header.head_len as usize;
    let mut groups = 0usize;
    for id in SectionId::ALL {
        let section = header.sections[id as usize];
        let (offset, len) = (section.offset as usize, section.len as usize);
        let expected = match id {
            SectionId::Index | SectionId::Sources => fragments.checked_mul(id.record_len())?,
            SectionId::Fragments => fragments.checked_add(1)?.checked_mul(id.record_len())?,
            SectionId::Extras if section.len == 0 => 0,
            SectionId::Extras => fragments.checked_add(1)?.checked_mul(id.record_len())?,
            _ => len,
        };
        let whole = if id == SectionId::Hot || id == SectionId::Cold {
            crate::PAGE
        } else {
            id.record_len()
        };
        let sound = offset >= at
            && offset.is_multiple_of(id.alignment())
            && len == expected
            && len.is_multiple_of(whole)
            && section.first_group as usize == groups;
        if !sound {
            return None;
        }
        at = offset.checked_add(len)?;
        groups = groups.checked_add(section.groups as usize)?;
    }
    let head_len = groups
        .checked_mul(GROUP_REC_LEN)?
        .checked_add(HEADER_LEN)?
        .checked_add(header.path_len as usize)?
        .checked_add(usize::from(header.label_len))?;
    let sound = fragments > 0
        && head_len == header.head_len as usize
        && at as u64 == header.file_len
        && header.file_len <= crate::layout::MAX_FILE;
    sound.then_some(())
}
