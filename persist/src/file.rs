//! A whole unit file in memory, for those who read all of it: inspection, merging,
//! verification.

use crate::entry::EntryKey;
use crate::layout::SectionId;
use crate::tables::FragmentInfo;
use crate::{CodeGroup, Key, RawUnit, Reject, UnitSpec, VerifiedUnit, freeze};
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::ImageBase;

/// A unit whose head is sound, with its code.
#[derive(Debug)]
pub struct UnitFile<'a> {
    unit: VerifiedUnit<'a>,
    bytes: &'a [u8],
}

/// Sizes, for reports. Bytes unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnitSummary {
    /// Number of fragments.
    pub fragments: u32,
    /// App instructions in them.
    pub instructions: u64,
    /// App bytes that they were made from, repetitions counted.
    pub source: u64,
    /// Hot section.
    pub hot: u64,
    /// Cold section.
    pub cold: u64,
    /// Slots.
    pub slots: u64,
    /// Head and tables.
    pub tables: u64,
    /// The file.
    pub file: u64,
    /// Number of direct exits.
    pub exits: u32,
    /// Number of those linked to a fragment of the unit.
    pub linked: u32,
}

impl<'a> UnitFile<'a> {
    /// Reads a file made for `key`, or for anything if `None`.
    ///
    /// # Errors
    /// The head is damaged or the key is another; the rest is not looked at.
    pub fn open(bytes: &'a [u8], key: Option<&Key>) -> Result<Self, Reject> {
        let raw = RawUnit::new(bytes, bytes.len() as u64)?;
        let unit = match key {
            Some(key) => raw.verify(key)?,
            None => raw.verify_any()?,
        };
        Ok(Self { unit, bytes })
    }

    /// Its tables.
    #[must_use]
    pub const fn unit(&self) -> &VerifiedUnit<'a> {
        &self.unit
    }

    /// Code of a fragment, as it lies in the file: relocated and linked.
    ///
    /// # Errors
    /// Its groups are damaged.
    pub fn hot(&self, info: &FragmentInfo) -> Result<&'a [u8], Reject> {
        self.check_code_of(info)?;
        self.hot_bytes(info)
    }

    /// Stubs of a fragment and its other cold code, as they lie in the file.
    ///
    /// # Errors
    /// Its groups are damaged.
    pub fn cold(&self, info: &FragmentInfo) -> Result<&'a [u8], Reject> {
        self.check_code_of(info)?;
        self.cold_bytes(info)
    }

    pub(crate) fn hot_bytes(&self, info: &FragmentInfo) -> Result<&'a [u8], Reject> {
        self.section_bytes(SectionId::Hot, info.hot.clone())
    }

    pub(crate) fn cold_bytes(&self, info: &FragmentInfo) -> Result<&'a [u8], Reject> {
        self.section_bytes(SectionId::Cold, info.cold.clone())
    }

    pub(crate) fn record_bytes(&self, info: &FragmentInfo) -> Result<&'a [u8], Reject> {
        self.section_bytes(SectionId::Cold, info.records())
    }

    /// Slots of a fragment, as they lie in the file, but for those of its exits.
    pub(crate) fn slot_bits(
        &self,
        info: &FragmentInfo,
    ) -> Result<impl Iterator<Item = u64> + use<'a>, Reject> {
        self.words(SectionId::Slots, &info.slots)
    }

    /// The same of the slots of its exits.
    pub(crate) fn exit_slot_bits(
        &self,
        info: &FragmentInfo,
    ) -> Result<impl Iterator<Item = u64> + use<'a>, Reject> {
        self.words(SectionId::ExitSlots, &info.stubs)
    }

    fn words(
        &self,
        section: SectionId,
        numbers: &Range<u32>,
    ) -> Result<impl Iterator<Item = u64> + use<'a>, Reject> {
        let bytes = self.section_bytes(section, numbers.start * 8..numbers.end * 8)?;
        let words = bytes.as_chunks::<8>().0.iter();
        Ok(words.map(|word| u64::from_le_bytes(*word)))
    }

    /// Verifies the groups of a fragment's code and slots.
    pub(crate) fn check_code_of(&self, info: &FragmentInfo) -> Result<(), Reject> {
        if !info.hot.is_empty() {
            let group = self.unit.hot_group_at(info.hot.start);
            let number = group.as_ref().map_or(0, |group| group.number);
            self.check_code(SectionId::Hot, group)?;
            self.check_slots(number)?;
        }
        if !info.cold.is_empty() {
            self.check_code(SectionId::Cold, self.unit.cold_group_at(info.cold.start))?;
        }
        Ok(())
    }

    fn check_slots(&self, number: u32) -> Result<(), Reject> {
        let range = self.unit.slot_group(number).ok_or(Reject::Impossible)?;
        let bytes = self.section_bytes(SectionId::Slots, range)?;
        self.unit.check_slots(number, bytes)?;
        let range = self.unit.exit_slot_group(number);
        let bytes = self.section_bytes(SectionId::ExitSlots, range.ok_or(Reject::Impossible)?)?;
        self.unit.check_exit_slots(number, bytes)
    }

    fn check_code(&self, section: SectionId, group: Option<CodeGroup>) -> Result<(), Reject> {
        let group = group.ok_or(Reject::Record(SectionId::Fragments))?;
        let bytes = self.section_bytes(section, group.offset..group.offset + group.len)?;
        match section {
            SectionId::Hot => self.unit.check_hot(group.number, bytes),
            _ => self.unit.check_cold(group.number, bytes),
        }
    }

    fn section_bytes(&self, section: SectionId, range: Range<u32>) -> Result<&'a [u8], Reject> {
        let rec = self.unit.section(section);
        let start = rec.offset as usize;
        let bytes = self.bytes.get(start..start + rec.len as usize);
        let bytes = bytes.and_then(|bytes| bytes.get(range.start as usize..range.end as usize));
        bytes.ok_or(Reject::Record(section))
    }

    /// Verifies everything: all checksums, all records, and that the file is exactly
    /// what the writer would make of the fragments in it, links and padding included.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn verify_all(&self) -> Result<(), Reject> {
        let thawed = self.thaw_all()?;
        self.check_index()?;
        let pieces: Vec<_> = thawed.iter().map(|thawed| thawed.piece()).collect();
        let again = freeze(&self.spec(&pieces));
        match again {
            Ok(again) if again == self.bytes => Ok(()),
            _ => Err(Reject::Impossible),
        }
    }

    /// Verifies all checksums.
    pub(crate) fn check_groups(&self) -> Result<(), Reject> {
        self.unit.check_tables()?;
        for number in 0..self.unit.hot_groups() {
            self.check_code(SectionId::Hot, self.unit.hot_group(number))?;
            self.check_slots(number)?;
        }
        for number in 0..self.unit.cold_groups() {
            self.check_code(SectionId::Cold, self.unit.cold_group(number))?;
        }
        Ok(())
    }

    fn check_index(&self) -> Result<(), Reject> {
        let mut before = None;
        for number in 0..self.unit.fragments() {
            let entry = self.unit.entry(number)?;
            let key = EntryKey::new(entry.head.0, entry.context.0);
            if before.is_some_and(|before| before >= key) {
                return Err(Reject::Twice);
            }
            before = Some(key);
        }
        Ok(())
    }

    /// The specification that the writer was given, with `pieces` in place of its fragments.
    #[must_use]
    pub fn spec<'s>(&self, pieces: &'s [crate::Piece<'s>]) -> UnitSpec<'s>
    where
        'a: 's,
    {
        let geometry = self.unit.geometry();
        UnitSpec {
            key: geometry.key,
            displacement: geometry.displacement,
            image_base: geometry.absolute_for.unwrap_or(ImageBase(0)),
            image_path: self.unit.image_path(),
            label: self.unit.label(),
            explored: geometry.explored,
            entrances: geometry.entrances,
            fragments: pieces,
        }
    }

    /// Sizes, for reports.
    ///
    /// # Errors
    /// A table is damaged.
    pub fn summary(&self) -> Result<UnitSummary, Reject> {
        let geometry = self.unit.geometry();
        let mut summary = UnitSummary {
            fragments: self.unit.fragments(),
            hot: geometry.hot.end - geometry.hot.start,
            cold: geometry.cold.end - geometry.cold.start,
            slots: geometry.exit_slots.end - geometry.slots.start,
            tables: geometry.hot.start,
            file: geometry.file_len,
            ..UnitSummary::default()
        };
        for number in 0..self.unit.fragments() {
            let info = self.unit.info(number)?;
            summary.instructions += u64::from(info.instructions);
            summary.source += u64::from(info.trace_len());
            for exit in self.unit.exits(number)? {
                let exit = exit?;
                summary.exits += 1;
                let linked = self.unit.entrance(exit.target, exit.context)?;
                summary.linked += u32::from(linked.is_some());
            }
        }
        Ok(summary)
    }
}
