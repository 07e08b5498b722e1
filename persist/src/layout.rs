//! Constants of the format. `FORMAT.md` uses the same names.

/// First bytes of a unit file.
pub const MAGIC: [u8; 8] = *b"ppinunit";

/// Counts incompatible changes of the file format.
///
/// 1: first version.
/// 2: images are identified by build id and length; times of files mean nothing.
/// 3: any register may lie in any spill slot: sets of them are a table of their own.
/// 4: a slot may hold the complement of an app address.
/// 6: fragments may be entered behind their start.
/// 9: slots of exits are a section of their own.
/// 10: stubs have no record, and stand where the cold code of a fragment begins; pc maps are bytes.
/// 11: nothing is said twice of a fragment; what only tools need is a table of its own.
/// 12: slots of jumps through cells.
/// 13: exits may lead to side entrances.
/// 14: cold code begins at multiples of 4.
/// 15: slots of jumps through sealed cells.
/// 16: exits that are linked in the file have no stub.
/// 18: slots of jumps through tables that do not change.
pub const FORMAT_VERSION: u32 = 19;

/// Granule of checksums and of admission, in bytes.
pub const GROUP: usize = 16 * 1024;

/// Mapped sections begin at multiples of this.
pub const PAGE: usize = 4096;

/// Sections that are not mapped for execution begin at multiples of this.
pub(crate) const TABLE_ALIGN: usize = 64;

/// Longest file: everything in it is within reach of a 32-bit displacement.
pub(crate) const MAX_FILE: u64 = i32::MAX as u64;

/// Longest hot code of a fragment, in bytes: 16 bits count in units of 4.
pub const MAX_HOT: usize = 4 * u16::MAX as usize;

/// Longest cold code of a fragment, in bytes.
pub const MAX_COLD: usize = u16::MAX as usize;

/// Longest recorded image path and label.
pub(crate) const MAX_TEXT: usize = 4096;

/// Fill between fragments: `int3`.
pub(crate) const FILL: u8 = 0xcc;

/// Number of sections.
pub const SECTIONS: usize = 14;

/// The sections, in file order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum SectionId {
    /// Sorted entry points, 8 bytes each.
    Index = 0,
    /// Source of each fragment: hash of the app's bytes, 8 bytes each.
    Sources = 1,
    /// Fragment records, 48 bytes each, and one more that ends the last.
    Fragments = 2,
    /// What instrumentation adds to them, 12 bytes each; none if it adds nothing to any.
    Extras = 3,
    /// Relocations, 8 bytes each.
    Relocs = 4,
    /// Direct exits, 8 bytes each.
    Exits = 5,
    /// Program counter maps, in bytes.
    PcRows = 6,
    /// Counter additions, 16 bytes each.
    Counts = 7,
    /// Sets of spilled registers, 8 bytes each.
    Spills = 8,
    /// The tool's own records.
    Tool = 9,
    /// Code.
    Hot = 10,
    /// Stubs and records.
    Cold = 11,
    /// Slots, 8 bytes each, but for those of exits.
    Slots = 12,
    /// Slots of exits that have stubs, 8 bytes each, in the order of [`Self::Exits`]; then those of spare stubs.
    ExitSlots = 13,
}

impl SectionId {
    /// All of them, in file order.
    pub const ALL: [Self; SECTIONS] = [
        Self::Index,
        Self::Sources,
        Self::Fragments,
        Self::Extras,
        Self::Relocs,
        Self::Exits,
        Self::PcRows,
        Self::Counts,
        Self::Spills,
        Self::Tool,
        Self::Hot,
        Self::Cold,
        Self::Slots,
        Self::ExitSlots,
    ];

    /// Bytes of one of its records.
    pub(crate) const fn record_len(self) -> usize {
        match self {
            Self::Fragments => 48,
            Self::Extras => 12,
            Self::Counts => 16,
            Self::Index
            | Self::Sources
            | Self::Relocs
            | Self::Exits
            | Self::Spills
            | Self::Slots
            | Self::ExitSlots => 8,
            Self::PcRows | Self::Tool | Self::Hot | Self::Cold => 1,
        }
    }

    /// Multiple at which it begins in the file.
    pub(crate) const fn alignment(self) -> usize {
        match self {
            Self::Hot | Self::Cold | Self::Slots => PAGE,
            // Or of a page, if they do not fit into one with the other slots.
            Self::ExitSlots => 8,
            _ => TABLE_ALIGN,
        }
    }

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Sources => "sources",
            Self::Fragments => "fragments",
            Self::Extras => "extras",
            Self::Relocs => "relocations",
            Self::Exits => "exits",
            Self::PcRows => "pc map",
            Self::Counts => "counts",
            Self::Spills => "spill sets",
            Self::Tool => "tool records",
            Self::Hot => "hot code",
            Self::Cold => "cold code",
            Self::Slots => "slots",
            Self::ExitSlots => "exit slots",
        }
    }
}

/// Length of the fixed part of the head.
pub const HEADER_LEN: usize = 396;

/// Length of one entry of the group table.
pub(crate) const GROUP_REC_LEN: usize = 24;

/// Offset of the head's checksum in it.
pub(crate) const CHECKSUM_AT: usize = 24;
