//! Fixed-size records, written and read by rkyv: little-endian, unaligned, no
//! pointers, so that one of them can be read in place without its neighbours, in a
//! signal handler if need be.
//!
//! The sizes asserted below are part of the format: a change is a new
//! [`crate::FORMAT_VERSION`].

use crate::layout::{CHECKSUM_AT, GROUP_REC_LEN, HEADER_LEN, SECTIONS, SectionId};
use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;
use ppin_relocator::{CountRow, Exit, Reloc, RelocKind, Section};
use rkyv::{Archive, Deserialize, Serialize};

/// A section in the head.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SectionRec {
    /// Offset in the file.
    pub offset: u32,
    /// Length in bytes.
    pub len: u32,
    /// Its first entry in the group table.
    pub first_group: u32,
    /// Number of its groups.
    pub groups: u32,
}

/// The fixed part of the head.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeaderRec {
    pub magic: [u8; 8],
    pub format: u32,
    pub layout: u32,
    pub file_len: u64,
    pub checksum: u64,
    pub image: [u8; 32],
    pub engine: [u8; 32],
    pub tool: [u8; 32],
    pub displacement: i64,
    pub abs_base: u64,
    pub head_len: u32,
    pub fragments: u32,
    pub path_len: u32,
    pub flags: u16,
    pub label_len: u16,
    pub sections: [SectionRec; SECTIONS],
    pub spares: SparesRec,
}

/// See [`crate::Spares`].
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SparesRec {
    pub count: u32,
    pub cold: u32,
    pub slot: u32,
}

/// Flag in the head: some fields hold absolute addresses, right for `abs_base` only.
pub(crate) const HAS_ABSOLUTE: u16 = 1;
/// See [`crate::UnitSpec::explored`].
pub(crate) const EXPLORED: u16 = 2;
/// See [`crate::UnitSpec::entrances`].
pub(crate) const ENTRANCES: u16 = 4;

/// Lowest of the bits in the flags of a fragment that say by how much its hot code is shorter than
/// [`FragmentRec::hot_quarters`] says.
const SHORTER_SHIFT: u8 = 6;

/// A group in the group table.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct GroupRec {
    /// Offset in the file.
    pub offset: u32,
    /// Length in bytes.
    pub len: u32,
    /// Checksum of its bytes.
    pub checksum: u64,
    /// Code and slots: first fragment. Index: head of its first entry.
    pub first: u32,
    /// Code and slots: fragment after its last. Index: context of its first entry.
    pub end: u32,
}

/// An entry point: its fragment says the rest.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct IndexRec {
    pub head: i32,
    pub fragment: u32,
}

/// Source of a fragment, which says where it lies.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SourceRec {
    pub hash: u64,
}

/// A fragment. A `first_x` counts records in section x; the fragment's records end
/// where those of the next record begin, hence one record more than fragments.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FragmentRec {
    pub head: i32,
    pub hot: u32,
    pub cold: u32,
    pub first_slot: u32,
    pub first_reloc: u32,
    pub first_exit: u32,
    /// First of its stubs among those of all fragments, and of the slots of exits.
    pub first_stub: u32,
    pub first_pc_byte: u32,
    /// First set of spilled registers that its pc map names; other fragments may share it.
    pub first_spill_set: u32,
    pub context: u16,
    pub source_len: u16,
    pub instructions: u8,
    /// See [`ppin_relocator::Shape`].
    pub shape: u8,
    /// A quarter of the length of its hot code, rounded up.
    pub hot_quarters: u16,
    pub cold_len: u16,
    /// Bits of [`crate::unit_flag`]; above [`SHORTER_SHIFT`], bytes that the last quarter lacks.
    pub flags: u8,
    /// The hot offset of the entry.
    pub entry: u8,
}

impl FragmentRec {
    /// Length of its hot code in bytes; `None` if it makes no sense.
    pub(crate) fn hot_len(&self) -> Option<u32> {
        let all = 4 * u32::from(self.hot_quarters);
        all.checked_sub((self.flags >> SHORTER_SHIFT).into())
    }

    /// Bits of [`crate::unit_flag`].
    pub(crate) fn unit_flags(&self) -> u32 {
        (self.flags & ((1 << SHORTER_SHIFT) - 1)).into()
    }

    /// The same with hot code of so many bytes, and these flags; `None`: they do not fit.
    pub(crate) fn with(self, hot_len: usize, flags: u32) -> Option<Self> {
        let quarters = hot_len.div_ceil(4);
        let shorter = (4 * quarters - hot_len) as u8;
        let flags = u8::try_from(flags).ok()?;
        (flags < 1 << SHORTER_SHIFT).then_some(Self {
            hot_quarters: u16::try_from(quarters).ok()?,
            flags: flags | shorter << SHORTER_SHIFT,
            ..self
        })
    }
}

/// What instrumentation adds to a fragment; `first_x` as in [`FragmentRec`].
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ExtraRec {
    pub first_count: u32,
    pub first_tool_byte: u32,
    /// The last bytes of its source, which lie behind the trace.
    pub beyond: u32,
}

/// A relocation: offset in bits 0 to 21 of `place`, bias plus 32 in bits 22 to 27, section in bit
/// 28, kind above.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RelocRec {
    pub place: u32,
    pub target: u32,
}

/// Bit of [`ExitRec::context`]: it is linked in the file, and has no stub.
pub(crate) const LINKED: u16 = 1 << 15;

/// A direct exit.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ExitRec {
    pub target: i32,
    pub context: u16,
    /// A quarter of the offset of the branch's field.
    pub branch: u16,
}

/// A counter addition; bit 31 of `done`: relative to the image's counters.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CountRec {
    pub done: u32,
    pub counter: u32,
    pub app: u32,
    pub amount: u32,
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<ArchivedHeaderRec>() == HEADER_LEN);
    assert!(offset_of!(ArchivedHeaderRec, file_len) == 16);
    assert!(offset_of!(ArchivedHeaderRec, checksum) == CHECKSUM_AT);
    assert!(offset_of!(ArchivedHeaderRec, image) == 32);
    assert!(offset_of!(ArchivedHeaderRec, displacement) == 128);
    assert!(offset_of!(ArchivedHeaderRec, head_len) == 144);
    assert!(offset_of!(ArchivedHeaderRec, label_len) == 158);
    assert!(offset_of!(ArchivedHeaderRec, sections) == 160);
    assert!(offset_of!(ArchivedHeaderRec, spares) == 384);
    assert!(size_of::<ArchivedGroupRec>() == GROUP_REC_LEN);
    assert!(offset_of!(ArchivedFragmentRec, context) == 36);
    assert!(size_of::<ArchivedIndexRec>() == SectionId::Index.record_len());
    assert!(size_of::<ArchivedSourceRec>() == SectionId::Sources.record_len());
    assert!(size_of::<ArchivedFragmentRec>() == SectionId::Fragments.record_len());
    assert!(size_of::<ArchivedExtraRec>() == SectionId::Extras.record_len());
    assert!(size_of::<ArchivedRelocRec>() == 8);
    assert!(size_of::<ArchivedExitRec>() == 8);
    assert!(size_of::<ArchivedCountRec>() == 16);
};

/// A fixed-size record.
pub(crate) trait Record: Sized {
    /// Its bytes in a file.
    const LEN: usize;
    /// Appends it; there is room.
    fn put(&self, out: &mut impl rkyv::ser::Writer<rkyv::rancor::Failure>);
    /// The record that fills `bytes`, or `None` if the length is wrong.
    fn get(bytes: &[u8]) -> Option<Self>;
}

macro_rules! records {
    ($($name:ty),* $(,)?) => {
        $(impl $crate::record::Record for $name {
            const LEN: usize = size_of::<rkyv::Archived<$name>>();

            #[inline]
            fn put(&self, out: &mut impl rkyv::ser::Writer<rkyv::rancor::Failure>) {
                use rkyv::{api::serialize_using, rancor::Failure};
                let written = serialize_using::<_, Failure>(self, out);
                debug_assert!(written.is_ok(), "there is room");
            }

            #[inline]
            fn get(bytes: &[u8]) -> Option<Self> {
                use rkyv::api::{deserialize_using, low::access};
                use rkyv::{Archived, rancor::Failure};
                if bytes.len() != Self::LEN {
                    return None;
                }
                let archived = access::<Archived<Self>, Failure>(bytes).ok()?;
                deserialize_using::<_, _, Failure>(archived, &mut ()).ok()
            }
        })*
    };
}

pub(crate) use records;

records!(
    HeaderRec,
    GroupRec,
    IndexRec,
    SourceRec,
    FragmentRec,
    ExtraRec,
    RelocRec,
    ExitRec,
    CountRec,
);

/// A type that is kept as a record, if its values fit.
pub(crate) trait Stored: Sized {
    type Record: Record;
    fn store(&self) -> Option<Self::Record>;
    fn load(record: Self::Record) -> Option<Self>;
}

const LOW22: u32 = (1 << 22) - 1;
/// What is added to a bias, so that it is not negative.
const BIAS: i32 = 32;
const TOP_BIT: u32 = 1 << 31;

impl Stored for Reloc {
    type Record = RelocRec;

    fn store(&self) -> Option<RelocRec> {
        let (kind, target) = match self.kind {
            RelocKind::App(off) => (0, off.0 as u32),
            RelocKind::AppAbs32(off) => (1, off.0 as u32),
            RelocKind::Slot(index) => (2, u32::from(index)),
            RelocKind::Hot(off) => (3, off),
            RelocKind::Cold(off) => (4, off),
            RelocKind::Cell(index) => (5, u32::from(index)),
        };
        let bias = u32::try_from(self.pc_bias.checked_add(BIAS)?).ok()?;
        (self.at <= LOW22 && bias < 64).then_some(RelocRec {
            place: self.at | bias << 22 | (self.section as u32) << 28 | kind << 29,
            target,
        })
    }

    fn load(record: RelocRec) -> Option<Self> {
        let kind = match record.place >> 29 {
            0 => RelocKind::App(ImageOff(record.target as i32)),
            1 => RelocKind::AppAbs32(ImageOff(record.target as i32)),
            2 => RelocKind::Slot(u16::try_from(record.target).ok()?),
            3 => RelocKind::Hot(record.target),
            4 => RelocKind::Cold(record.target),
            5 => RelocKind::Cell(u16::try_from(record.target).ok()?),
            _ => return None,
        };
        let section = if record.place & (1 << 28) == 0 {
            Section::Hot
        } else {
            Section::Cold
        };
        Some(Self {
            section,
            at: record.place & LOW22,
            pc_bias: (record.place >> 22 & 63).cast_signed() - BIAS,
            kind,
        })
    }
}

/// Fields of branches lie at multiples of this.
const BRANCH_ALIGN: u32 = 4;

impl Stored for Exit {
    type Record = ExitRec;

    fn store(&self) -> Option<ExitRec> {
        let aligned = self.branch.is_multiple_of(BRANCH_ALIGN);
        Some(ExitRec {
            target: self.target.0,
            context: u16::try_from(self.context.0)
                .ok()
                .filter(|context| context & LINKED == 0)?,
            branch: u16::try_from(self.branch / BRANCH_ALIGN)
                .ok()
                .filter(|_| aligned)?,
        })
    }

    fn load(record: ExitRec) -> Option<Self> {
        Some(Self {
            target: ImageOff(record.target),
            context: Context(record.context.into()),
            branch: u32::from(record.branch) * BRANCH_ALIGN,
        })
    }
}

impl Stored for CountRow {
    type Record = CountRec;

    fn store(&self) -> Option<CountRec> {
        (self.done < TOP_BIT).then_some(CountRec {
            done: self.done | if self.image { TOP_BIT } else { 0 },
            counter: self.counter,
            app: self.app,
            amount: self.amount,
        })
    }

    fn load(record: CountRec) -> Option<Self> {
        Some(Self {
            done: record.done & !TOP_BIT,
            counter: record.counter,
            image: record.done & TOP_BIT != 0,
            app: record.app,
            amount: record.amount,
        })
    }
}
