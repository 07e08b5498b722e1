//! A unit whose head is sound. Its tables are verified group by group, each before
//! its first use, and remembered; code and slots are verified by whoever maps them.
//!
//! Nothing here allocates after [`crate::RawUnit::verify`], so all of it may be used
//! in a signal handler, and by several threads at once.

use crate::group::CodeGroup;
use crate::layout::SectionId;
use crate::record::{FragmentRec, HeaderRec, Record, SourceRec};
use crate::search::{partition, read_at};
use crate::spills::Window;
use crate::tables::{FragmentInfo, Reached, Records, Source};
use crate::{Geometry, Key, Reject, head, unit_flag};
use alloc::boxed::Box;
use core::ops::Range;
use core::sync::atomic::AtomicU64;
use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;
use ppin_abi::record::stub;
use ppin_relocator::{CountRow, Exit, PcRow, Reloc, Shape, arrives_before, rows_of};

/// A unit whose head was verified.
#[derive(Debug)]
pub struct VerifiedUnit<'a> {
    pub(crate) header: HeaderRec,
    /// The file up to its hot section.
    pub(crate) tables: &'a [u8],
    /// One bit for each table group that was found intact.
    pub(crate) seen: Box<[AtomicU64]>,
}

impl<'a> VerifiedUnit<'a> {
    /// The head's checksum is right; what remains is whether it makes sense.
    pub(crate) fn new(header: HeaderRec, tables: &'a [u8]) -> Result<Self, Reject> {
        let table_groups = header.sections[SectionId::Hot as usize].first_group;
        let words = table_groups.div_ceil(64);
        let unit = Self {
            header,
            tables,
            seen: (0..words).map(|_| AtomicU64::new(0)).collect(),
        };
        unit.check_group_table().ok_or(Reject::Impossible)?;
        Ok(unit)
    }

    /// Engine, tool and image of which it holds the code.
    #[must_use]
    pub fn key(&self) -> Key {
        head::key(&self.header)
    }

    /// Where its parts lie.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        head::geometry(&self.header)
    }

    /// Path of the image as its writer knew it.
    #[must_use]
    pub fn image_path(&self) -> &'a [u8] {
        let (path, _) = self.text();
        path
    }

    /// The tool and its knobs as the writer knew them.
    #[must_use]
    pub fn label(&self) -> &'a [u8] {
        let (_, label) = self.text();
        label
    }

    /// The end of the head: path, then label.
    fn text(&self) -> (&'a [u8], &'a [u8]) {
        head::text(&self.header, self.tables).unwrap_or_default()
    }

    /// Number of fragments.
    #[must_use]
    pub fn fragments(&self) -> u32 {
        self.header.fragments
    }

    /// Checksum of the head and so, through the checksums in it, of the whole file.
    #[must_use]
    pub fn checksum(&self) -> u64 {
        self.header.checksum
    }

    /// Place and size of fragment `number`.
    ///
    /// # Errors
    /// Its record is damaged, or there is none.
    pub fn info(&self, number: u32) -> Result<FragmentInfo, Reject> {
        let pair = self.pair(number)?;
        let this = &pair.this;
        let nonsense = Reject::Record(SectionId::Fragments);
        arrives_before(this.entry).ok_or(nonsense)?;
        let hot_len = this.hot_len().filter(|len| u32::from(this.entry) < *len);
        let hot = self.inside(SectionId::Hot, this.hot, hot_len.ok_or(nonsense)?)?;
        let cold = self.inside(SectionId::Cold, this.cold, this.cold_len.into())?;
        let beyond = pair.extra[0].beyond;
        if beyond > this.source_len.into() {
            return Err(Reject::Record(SectionId::Extras));
        }
        let slots = pair.records(SectionId::Slots);
        let exits = pair.records(SectionId::Exits);
        let stubs = pair.records(SectionId::ExitSlots);
        for (range, section) in [
            (&slots, SectionId::Slots),
            (&exits, SectionId::Exits),
            (&stubs, SectionId::ExitSlots),
        ] {
            if range.start > range.end || range.end > self.section(section).len / 8 {
                return Err(nonsense);
            }
        }
        if stubs.len() > exits.len() || stub::room(stubs.len()) > this.cold_len.into() {
            return Err(nonsense);
        }
        Ok(FragmentInfo {
            number,
            head: ImageOff(this.head),
            context: Context(this.context.into()),
            source_len: this.source_len.into(),
            beyond,
            instructions: this.instructions.into(),
            shape: Shape(this.shape),
            hot,
            before: this.entry,
            cold,
            slots,
            exits,
            stubs,
            flags: this.unit_flags(),
        })
    }

    fn inside(&self, section: SectionId, offset: u32, len: u32) -> Result<Range<u32>, Reject> {
        let end = offset.checked_add(len);
        end.filter(|end| *end <= self.section(section).len)
            .map(|end| offset..end)
            .ok_or(Reject::Record(SectionId::Fragments))
    }

    /// The fragment whose code covers byte `offset` of the hot section.
    ///
    /// # Errors
    /// Its record is damaged.
    pub fn fragment_at_hot(&self, offset: u32) -> Result<Option<FragmentInfo>, Reject> {
        let Some(group) = self.hot_group_at(offset) else {
            return Ok(None);
        };
        self.fragment_at(group.fragments, offset, |it| it.hot, |it| it.hot.clone())
    }

    /// The fragment that has slot `number`, which is no exit's.
    ///
    /// # Errors
    /// Its record is damaged.
    pub fn fragment_with_slot(&self, number: u32) -> Result<Option<FragmentInfo>, Reject> {
        let group = number.checked_mul(8).and_then(|at| self.slot_group_at(at));
        let Some(group) = group.and_then(|group| self.hot_group(group)) else {
            return Ok(None);
        };
        let first = |it: &FragmentRec| it.first_slot;
        self.fragment_at(group.fragments, number, first, |it| it.slots.clone())
    }

    /// The fragment whose stub has exit slot `number`.
    ///
    /// # Errors
    /// Its record is damaged.
    pub fn fragment_with_exit_slot(&self, number: u32) -> Result<Option<FragmentInfo>, Reject> {
        let group = number
            .checked_mul(8)
            .and_then(|at| self.exit_slot_group_at(at));
        let Some(group) = group.and_then(|group| self.hot_group(group)) else {
            return Ok(None);
        };
        let first = |it: &FragmentRec| it.first_stub;
        self.fragment_at(group.fragments, number, first, |it| it.stubs.clone())
    }

    /// The fragment whose stubs cover byte `offset` of the cold section, if its hot group is `sound`: records
    /// of others are not looked at.
    ///
    /// # Errors
    /// Its record is damaged.
    pub fn fragment_at_cold(
        &self,
        offset: u32,
        sound: impl Fn(u32) -> bool,
    ) -> Result<Option<FragmentInfo>, Reject> {
        let Some(Range { start, end }) = self.cold_group_at(offset).map(|group| group.fragments)
        else {
            return Ok(None);
        };
        let before = |number| {
            self.hot_group(number)
                .is_some_and(|group| group.fragments.end <= start)
        };
        let first = partition(0..self.hot_groups(), before);
        let groups = (first..self.hot_groups()).filter_map(|number| self.hot_group(number));
        let groups = groups.take_while(|group| group.fragments.start < end);
        for group in groups.filter(|group| sound(group.number)) {
            let span = group.fragments.start.max(start)..group.fragments.end.min(end);
            let found = self.fragment_at(span, offset, |it| it.cold, |it| it.cold.clone())?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The fragment of `span` whose `range`, which begins at `start`, holds `offset`.
    fn fragment_at(
        &self,
        span: Range<u32>,
        offset: u32,
        start: impl Fn(&FragmentRec) -> u32,
        range: impl Fn(&FragmentInfo) -> Range<u32>,
    ) -> Result<Option<FragmentInfo>, Reject> {
        let bytes = self.records(SectionId::Fragments, span.clone())?;
        let begins = |number: u32| {
            let record = read_at(bytes, number - span.start);
            record.is_some_and(|record| start(&record) <= offset)
        };
        // (An empty range at `offset` belongs to a fragment before the one sought.)
        let Some(last) = partition(span.clone(), begins).checked_sub(1) else {
            return Ok(None);
        };
        if !span.contains(&last) {
            return Ok(None);
        }
        let info = self.info(last)?;
        Ok(range(&info).contains(&offset).then_some(info))
    }

    /// Source of fragment `number`.
    ///
    /// # Errors
    /// Its record is damaged, or there is none.
    pub fn source(&self, number: u32) -> Result<Source, Reject> {
        let source = self.record(SectionId::Sources, number)?;
        Ok(source_of(
            source,
            &self.record(SectionId::Fragments, number)?,
        ))
    }

    /// Sources of the fragments of `group`, in their order.
    ///
    /// # Errors
    /// The tables are damaged.
    pub fn sources(
        &self,
        group: &CodeGroup,
    ) -> Result<impl Iterator<Item = Source> + use<'a>, Reject> {
        let hashes = self.records(SectionId::Sources, group.fragments.clone())?;
        let hashes = hashes.chunks_exact(SectionId::Sources.record_len());
        let fragments = self.records(SectionId::Fragments, group.fragments.clone())?;
        let fragments = fragments.chunks_exact(SectionId::Fragments.record_len());
        Ok(hashes.zip(fragments).filter_map(|(hash, fragment)| {
            Some(source_of(
                SourceRec::get(hash)?,
                &FragmentRec::get(fragment)?,
            ))
        }))
    }

    /// Fragments of `group` that indirect branches reach, in the canonical context.
    ///
    /// # Errors
    /// The table is damaged.
    pub fn indirect_targets(
        &self,
        group: &CodeGroup,
    ) -> Result<impl Iterator<Item = Reached> + use<'a>, Reject> {
        let bytes = self.records(SectionId::Fragments, group.fragments.clone())?;
        let records = bytes.chunks_exact(SectionId::Fragments.record_len());
        let end = self.section(SectionId::Hot).len;
        let reached = move |record: FragmentRec| {
            let hot = record.hot.checked_add(record.entry.into())?;
            let reached = record.unit_flags() & unit_flag::INDIRECT_TARGET != 0
                && Context(record.context.into()) == Context::CANONICAL
                && hot < end;
            reached.then_some(Reached {
                head: ImageOff(record.head),
                hot,
                before: arrives_before(record.entry)?,
            })
        };
        Ok(records.filter_map(FragmentRec::get).filter_map(reached))
    }

    /// The pc map of fragment `number`; offsets count from the fragment's start.
    ///
    /// # Errors
    /// The table is damaged.
    pub fn pc_rows(&self, number: u32) -> Result<impl Iterator<Item = PcRow> + use<'a>, Reject> {
        Ok(self.checked_pc_rows(number)?.flatten())
    }

    /// The same, with `None` for each row that makes no sense.
    pub(crate) fn checked_pc_rows(
        &self,
        number: u32,
    ) -> Result<impl Iterator<Item = Option<PcRow>> + use<'a>, Reject> {
        let pair = self.pair(number)?;
        let bytes = self.records(SectionId::PcRows, pair.records(SectionId::PcRows))?;
        let sets = Window::range(pair.this.first_spill_set, self.spill_sets());
        let window = Window::new(self.records(SectionId::Spills, sets)?);
        Ok(rows_of(bytes, move |index| window.set(index)))
    }

    /// Number of sets of spilled registers.
    pub(crate) fn spill_sets(&self) -> u32 {
        self.section(SectionId::Spills).len / SectionId::Spills.record_len() as u32
    }

    /// The row of the pc map for byte `offset` of fragment `number`.
    ///
    /// # Errors
    /// The table is damaged.
    pub fn pc_row_at(&self, number: u32, offset: u32) -> Result<Option<PcRow>, Reject> {
        let rows = self.pc_rows(number)?;
        Ok(rows.take_while(|row| row.hot <= offset).last())
    }

    /// Counter additions of fragment `number`.
    ///
    /// # Errors
    /// The table is damaged.
    pub fn counts(&self, number: u32) -> Result<impl Iterator<Item = CountRow> + use<'a>, Reject> {
        let bytes = self.table_of(number, SectionId::Counts)?;
        Ok(Records::<CountRow>::new(bytes, SectionId::Counts).flatten())
    }

    /// Relocations of fragment `number`.
    ///
    /// # Errors
    /// The table is damaged; each item by itself may make no sense.
    pub fn relocs(
        &self,
        number: u32,
    ) -> Result<impl Iterator<Item = Result<Reloc, Reject>> + use<'a>, Reject> {
        let bytes = self.table_of(number, SectionId::Relocs)?;
        let rows = Records::<Reloc>::new(bytes, SectionId::Relocs);
        Ok(rows.map(|row| row.ok_or(Reject::Record(SectionId::Relocs))))
    }

    /// Direct exits of fragment `number`.
    ///
    /// # Errors
    /// The table is damaged; each item by itself may make no sense.
    pub fn exits(
        &self,
        number: u32,
    ) -> Result<impl Iterator<Item = Result<Exit, Reject>> + use<'a>, Reject> {
        let kept = self.kept_exits(number)?;
        Ok(kept.map(|kept| kept.map(|kept| kept.exit)))
    }

    /// The tool's record of fragment `number`.
    ///
    /// # Errors
    /// The table is damaged.
    pub fn tool_record(&self, number: u32) -> Result<&'a [u8], Reject> {
        self.table_of(number, SectionId::Tool)
    }

    /// Number of hot groups, and of slot groups.
    #[must_use]
    pub fn hot_groups(&self) -> u32 {
        self.section(SectionId::Hot).groups
    }

    /// Number of cold groups.
    #[must_use]
    pub fn cold_groups(&self) -> u32 {
        self.section(SectionId::Cold).groups
    }

    /// Hot group by number.
    #[must_use]
    pub fn hot_group(&self, number: u32) -> Option<CodeGroup> {
        self.code_group(SectionId::Hot, number)
    }

    /// Cold group by number.
    #[must_use]
    pub fn cold_group(&self, number: u32) -> Option<CodeGroup> {
        self.code_group(SectionId::Cold, number)
    }

    /// The hot group that holds byte `offset` of the hot section.
    #[must_use]
    pub fn hot_group_at(&self, offset: u32) -> Option<CodeGroup> {
        self.code_group_at(SectionId::Hot, offset)
    }

    /// The cold group that holds byte `offset` of the cold section.
    #[must_use]
    pub fn cold_group_at(&self, offset: u32) -> Option<CodeGroup> {
        self.code_group_at(SectionId::Cold, offset)
    }

    /// Byte range, in the slots section, of the slots of hot group `number`.
    #[must_use]
    pub fn slot_group(&self, number: u32) -> Option<Range<u32>> {
        self.slots_of(SectionId::Slots, number)
    }

    /// Byte range, in the section of exit slots, of those of hot group `number`.
    #[must_use]
    pub fn exit_slot_group(&self, number: u32) -> Option<Range<u32>> {
        self.slots_of(SectionId::ExitSlots, number)
    }

    fn slots_of(&self, section: SectionId, number: u32) -> Option<Range<u32>> {
        let group = self.group(section, number)?;
        let start = group.offset - self.section(section).offset;
        Some(start..start + group.len)
    }

    /// Number of the hot group that the slot at byte `offset` of their section belongs to.
    #[must_use]
    pub fn slot_group_at(&self, offset: u32) -> Option<u32> {
        self.group_of(offset, |number| self.slot_group(number))
    }

    /// Number of the hot group that the exit slot at byte `offset` of their section belongs to.
    #[must_use]
    pub fn exit_slot_group_at(&self, offset: u32) -> Option<u32> {
        self.group_of(offset, |number| self.exit_slot_group(number))
    }

    /// The hot group whose slots, of which `slots` tells, end behind byte `offset`.
    fn group_of(&self, offset: u32, slots: impl Fn(u32) -> Option<Range<u32>>) -> Option<u32> {
        let before = |number| slots(number).is_some_and(|it| it.end <= offset);
        let found = partition(0..self.hot_groups(), before);
        (found < self.hot_groups()).then_some(found)
    }
}

/// A source whose hash and whose fragment are these.
fn source_of(source: SourceRec, fragment: &FragmentRec) -> Source {
    Source {
        head: ImageOff(fragment.head),
        len: fragment.source_len.into(),
        hash: source.hash,
    }
}
