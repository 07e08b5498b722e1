//! Input of the writer, and why it may be refused.

use crate::Key;
use core::fmt;
use ppin_abi::addr::ImageBase;
use ppin_relocator::{FragmentRef, Reloc};

/// Flags of a fragment in a unit.
pub mod unit_flag {
    /// Some indirect branch reached it in an earlier run: worth a place in the
    /// lookup tables from the start.
    pub const INDIRECT_TARGET: u32 = 1;
    /// Translated though nothing had reached it: a sibling of what was executed.
    pub const ANTICIPATED: u32 = 2;

    /// Flags of a fragment that two units know: reached in one is reached.
    #[must_use]
    pub const fn unite(a: u32, b: u32) -> u32 {
        ((a | b) & !ANTICIPATED) | (a & b & ANTICIPATED)
    }
}

/// A fragment to freeze, and what is known about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece<'a> {
    /// Its code and tables.
    pub fragment: FragmentRef<'a>,
    /// Bits of [`unit_flag`].
    pub flags: u32,
    /// [`crate::source_hash`] of the `source_len` app bytes it was made from.
    pub source_hash: u64,
    /// The tool's record of it; may be empty.
    pub tool: &'a [u8],
}

/// A unit to write. Equal specs give equal bytes.
#[derive(Clone, Copy, Debug)]
pub struct UnitSpec<'a> {
    /// Key of the unit.
    pub key: Key,
    /// Where its hot section shall lie: address minus image base. A large one may lie nearer
    /// ([`crate::SMALL_FROM`]).
    pub displacement: i64,
    /// Where the image lies. It only reaches the file when a fragment holds
    /// absolute 32-bit addresses ([`ppin_relocator::RelocKind::AppAbs32`]).
    pub image_base: ImageBase,
    /// The image's path, for people to read.
    pub image_path: &'a [u8],
    /// The tool, its knobs and the mechanisms that were off, for people to read.
    pub label: &'a [u8],
    /// The other sides of the branches in this unit and in those before it have been
    /// looked at: a run that adds nothing need not do it.
    pub explored: bool,
    /// Exits may lead to side entrances of fragments ([`ppin_relocator::side_entrances`]).
    pub entrances: bool,
    /// The fragments, in the order in which they shall lie: that of first
    /// execution.
    pub fragments: &'a [Piece<'a>],
}

/// Why fragments cannot become a unit. Numbers are positions in
/// [`UnitSpec::fragments`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FreezeError {
    /// There is nothing to write.
    Empty,
    /// Two fragments have the same head and context.
    Twice {
        /// The later one.
        fragment: usize,
    },
    /// A table of the fragment is beyond the limits of the format, or points
    /// outside of it.
    Malformed {
        /// The fragment.
        fragment: usize,
    },
    /// A field does not reach its target at this displacement.
    Reach {
        /// The fragment.
        fragment: usize,
        /// The field.
        reloc: Reloc,
    },
    /// The file would be longer than 2 GiB.
    TooLarge,
    /// The image's path is longer than any path can be, or the label too long.
    Text,
}

impl fmt::Display for FreezeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is nothing to freeze"),
            Self::Twice { fragment } => {
                write!(f, "fragment {fragment} is a second one for its entry point")
            }
            Self::Malformed { fragment } => {
                write!(f, "fragment {fragment} does not fit the unit format")
            }
            Self::Reach { fragment, reloc } => {
                write!(f, "fragment {fragment} does not reach {:?}", reloc.kind)
            }
            Self::TooLarge => f.write_str("the unit would be longer than 2 GiB"),
            Self::Text => f.write_str("the image's path or the label is too long"),
        }
    }
}

impl core::error::Error for FreezeError {}
