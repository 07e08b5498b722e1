//! Records of a unit's tables as the reader returns them.

use crate::layout::SectionId;
use crate::record::{ExtraRec, FragmentRec, Record, Stored};
use core::marker::PhantomData;
use core::ops::Range;
use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;
use ppin_abi::record::stub;
use ppin_relocator::Shape;

/// An entry point of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// First app instruction.
    pub head: ImageOff,
    /// Static context that the fragment assumes on entry.
    pub context: Context,
    /// Offset in the hot section where it is entered.
    pub hot: u32,
    /// Number of the fragment.
    pub fragment: u32,
}

/// Source of a fragment: the app's bytes that it was made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// First app byte.
    pub head: ImageOff,
    /// Number of app bytes.
    pub len: u32,
    /// [`crate::source_hash`] of them.
    pub hash: u64,
}

/// A fragment's place and size. Ranges lie within their sections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FragmentInfo {
    /// Its number, in the order of the code.
    pub number: u32,
    /// First app instruction.
    pub head: ImageOff,
    /// Static context that it assumes on entry.
    pub context: Context,
    /// App bytes it was made from.
    pub source_len: u32,
    /// Of these, the last, which lie behind the trace: see [`ppin_relocator::Fragment::beyond`].
    pub beyond: u32,
    /// App instructions in it.
    pub instructions: u32,
    /// Which of its branches it follows.
    pub shape: Shape,
    /// Bytes in the hot section.
    pub hot: Range<u32>,
    /// How far behind the start of these it is entered: [`ppin_relocator::Fragment::entry`].
    pub before: u8,
    /// Bytes in the cold section: stubs, then the rest.
    pub cold: Range<u32>,
    /// Slots, by number, but for those of exits.
    pub slots: Range<u32>,
    /// Exits, by number.
    pub exits: Range<u32>,
    /// Stubs of exits, by number, and their slots: see [`crate::VerifiedUnit::with_stubs`].
    pub stubs: Range<u32>,
    /// Bits of [`crate::unit_flag`].
    pub flags: u32,
}

impl FragmentInfo {
    /// Of the bytes in the cold section, those behind the stubs: its cold code and records.
    #[must_use]
    pub fn records(&self) -> Range<u32> {
        self.cold.start + stub::room(self.stubs.len())..self.cold.end
    }

    /// App bytes of the trace itself.
    #[must_use]
    pub const fn trace_len(&self) -> u32 {
        self.source_len - self.beyond
    }

    /// Offset in the hot section where it is entered.
    #[must_use]
    pub fn entry(&self) -> u32 {
        self.hot.start + u32::from(self.before)
    }
}

/// A fragment that indirect branches reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reached {
    /// First app instruction.
    pub head: ImageOff,
    /// Offset in the hot section where it is entered.
    pub hot: u32,
    /// How many bytes before that threads arrive by indirect branches; 0: at a landing elsewhere
    /// ([`ppin_relocator::arrives_before`]).
    pub before: u8,
}

/// Records of fragments and of the one behind them.
pub(crate) struct RecordPair {
    pub this: FragmentRec,
    pub next: FragmentRec,
    /// What instrumentation adds to both.
    pub extra: [ExtraRec; 2],
}

impl RecordPair {
    /// Numbers of the fragments' records in `section`.
    pub(crate) fn records(&self, section: SectionId) -> Range<u32> {
        let (this, next) = (&self.this, &self.next);
        let [extra, next_extra] = &self.extra;
        match section {
            SectionId::Relocs => this.first_reloc..next.first_reloc,
            SectionId::Exits => this.first_exit..next.first_exit,
            SectionId::PcRows => this.first_pc_byte..next.first_pc_byte,
            SectionId::Counts => extra.first_count..next_extra.first_count,
            SectionId::Tool => extra.first_tool_byte..next_extra.first_tool_byte,
            SectionId::Slots => this.first_slot..next.first_slot,
            SectionId::ExitSlots => this.first_stub..next.first_stub,
            _ => 0..0,
        }
    }
}

/// Records of one kind, decoded as they are reached; `None` for one that makes no
/// sense.
#[derive(Clone, Debug)]
pub(crate) struct Records<'a, T> {
    bytes: &'a [u8],
    len: usize,
    kind: PhantomData<T>,
}

impl<'a, T> Records<'a, T> {
    pub(crate) fn new(bytes: &'a [u8], section: SectionId) -> Self {
        Self {
            bytes,
            len: section.record_len(),
            kind: PhantomData,
        }
    }
}

impl<T: Stored> Iterator for Records<'_, T> {
    type Item = Option<T>;

    fn next(&mut self) -> Option<Option<T>> {
        let (first, rest) = self.bytes.split_at_checked(self.len)?;
        self.bytes = rest;
        Some(T::Record::get(first).and_then(T::load))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.bytes.len() / self.len;
        (left, Some(left))
    }
}
