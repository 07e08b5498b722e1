//! Why a unit is not used.

use crate::layout::SectionId;
use core::fmt;

/// The part of a [`crate::Key`] that differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyPart {
    /// Another image, or another version of it.
    Image,
    /// Another build of ppin.
    Engine,
    /// Another tool, other knobs or options.
    Tool,
}

/// Why a unit, or a part of it, is not used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reject {
    /// The file is shorter than its head.
    TooShort,
    /// The file does not begin as a unit does.
    NotAUnit,
    /// Written by another version of the format.
    Format {
        /// The version found.
        found: u32,
    },
    /// Written for another layout of the thread area or of the stub records.
    Layout {
        /// The version found.
        found: u32,
    },
    /// The file's length is not the one recorded.
    Length {
        /// Recorded in the head.
        recorded: u64,
        /// Found in the file system.
        found: u64,
    },
    /// The head's checksum does not match.
    Head,
    /// The head is intact but describes an impossible file.
    Impossible,
    /// Made for something else.
    Key(KeyPart),
    /// A group's checksum does not match.
    Group {
        /// Section it lies in.
        section: SectionId,
        /// Number within the section.
        group: u32,
    },
    /// An intact record makes no sense.
    Record(SectionId),
    /// The same entry point is there twice.
    Twice,
    /// A relocated field does not reach its target where the unit lies now.
    Reach,
    /// The kernel does not let the code be executed, or put right first.
    Forbidden,
    /// The app's code is not the one that the group was made from.
    Stale,
    /// All cells for bundled counts are in use.
    Cells,
    /// The units to merge belong to different keys.
    Mixed,
}

impl Reject {
    /// Whether the file is of no use to anybody: torn, changed, or in the wrong place.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        !matches!(
            self,
            Self::Reach | Self::Forbidden | Self::Stale | Self::Cells | Self::Mixed
        )
    }
}

impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Image => "another image",
            Self::Engine => "another build of ppin",
            Self::Tool => "another tool or other options",
        })
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooShort => f.write_str("the file is shorter than its head"),
            Self::NotAUnit => f.write_str("the file is not a unit"),
            Self::Format { found } => {
                write!(f, "the file has format version {found}, this is another")
            }
            Self::Layout { found } => {
                write!(f, "the code is made for thread area layout {found}")
            }
            Self::Length { recorded, found } => {
                write!(f, "the file has {found} bytes, its head says {recorded}")
            }
            Self::Head => f.write_str("the head's checksum does not match"),
            Self::Impossible => f.write_str("the head describes an impossible file"),
            Self::Key(part) => write!(f, "the unit was made for {part}"),
            Self::Group { section, group } => {
                let section = section.name();
                write!(
                    f,
                    "the checksum of group {group} of the {section} does not match"
                )
            }
            Self::Record(section) => {
                write!(f, "a record of the {} makes no sense", section.name())
            }
            Self::Twice => f.write_str("one entry point is there twice"),
            Self::Reach => f.write_str("the unit lies too far from its image"),
            Self::Forbidden => f.write_str("the kernel does not let kept code be made executable"),
            Self::Stale => f.write_str("the program's code in memory is not what was translated"),
            Self::Cells => f.write_str("no cells are left for what kept code counts"),
            Self::Mixed => f.write_str("the units belong to different keys"),
        }
    }
}

impl core::error::Error for Reject {}
