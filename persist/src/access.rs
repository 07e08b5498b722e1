//! Access to the group table and to the tables behind it, which are verified before the first
//! use.

use crate::group::CodeGroup;
use crate::layout::{GROUP, GROUP_REC_LEN, HEADER_LEN, SectionId};
use crate::record::{ExtraRec, GroupRec, Record, SectionRec};
use crate::search::partition;
use crate::tables::RecordPair;
use crate::unit::VerifiedUnit;
use crate::{Reject, checksum};
use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::Ordering;

impl<'a> VerifiedUnit<'a> {
    pub(crate) fn section(&self, section: SectionId) -> SectionRec {
        self.header.sections[section as usize]
    }

    pub(crate) fn check(
        &self,
        section: SectionId,
        number: u32,
        bytes: &[u8],
    ) -> Result<(), Reject> {
        let damaged = Reject::Group {
            section,
            group: number,
        };
        let group = self.group(section, number).ok_or(damaged)?;
        let intact = bytes.len() == group.len as usize && checksum::group(bytes) == group.checksum;
        intact.then_some(()).ok_or(damaged)
    }

    /// Entry `number` of a section's part of the group table.
    pub(crate) fn group(&self, section: SectionId, number: u32) -> Option<GroupRec> {
        let section = self.section(section);
        if number >= section.groups {
            return None;
        }
        let at = HEADER_LEN + GROUP_REC_LEN * (section.first_group + number) as usize;
        GroupRec::get(self.tables.get(at..at + GROUP_REC_LEN)?)
    }

    pub(crate) fn code_group(&self, section: SectionId, number: u32) -> Option<CodeGroup> {
        let group = self.group(section, number)?;
        Some(CodeGroup {
            number,
            offset: group.offset - self.section(section).offset,
            len: group.len,
            fragments: group.first..group.end,
        })
    }

    pub(crate) fn code_group_at(&self, section: SectionId, offset: u32) -> Option<CodeGroup> {
        let groups = self.section(section).groups;
        let behind = partition(0..groups, |number| {
            let group = self.code_group(section, number);
            group.is_some_and(|group| group.offset <= offset)
        });
        let group = self.code_group(section, behind.checked_sub(1)?)?;
        (offset - group.offset < group.len).then_some(group)
    }

    /// A verified part of a table.
    pub(crate) fn table(
        &self,
        section: SectionId,
        range: Range<usize>,
    ) -> Result<&'a [u8], Reject> {
        let rec = self.section(section);
        let nonsense = Reject::Record(section);
        if range.start > range.end || range.end > rec.len as usize {
            return Err(nonsense);
        }
        if range.start < range.end {
            for group in range.start / GROUP..=(range.end - 1) / GROUP {
                self.ensure(section, group as u32)?;
            }
        }
        let start = rec.offset as usize;
        let bytes = self.tables.get(start + range.start..start + range.end);
        bytes.ok_or(nonsense)
    }

    /// Verifies a table group unless that was done before.
    pub(crate) fn ensure(&self, section: SectionId, number: u32) -> Result<(), Reject> {
        let damaged = Reject::Group {
            section,
            group: number,
        };
        let bit = self.section(section).first_group + number;
        let word = self.seen.get(bit as usize / 64).ok_or(damaged)?;
        let mask = 1 << (bit % 64);
        if word.load(Ordering::Relaxed) & mask == 0 {
            let group = self.group(section, number).ok_or(damaged)?;
            let start = group.offset as usize;
            let bytes = self.tables.get(start..start + group.len as usize);
            self.check(section, number, bytes.ok_or(damaged)?)?;
            word.fetch_or(mask, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Which table groups were verified: one bit for each, in the order of the group table.
    #[must_use]
    pub fn seen(&self) -> Vec<u64> {
        let words = self.seen.iter();
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    /// Takes the table groups of `seen` for verified: they were when the file was as it is now.
    pub fn trust(&self, seen: &[u64]) {
        for (word, known) in self.seen.iter().zip(seen) {
            word.fetch_or(*known, Ordering::Relaxed);
        }
    }

    /// Verified records of a section, by number.
    pub(crate) fn records(
        &self,
        section: SectionId,
        range: Range<u32>,
    ) -> Result<&'a [u8], Reject> {
        let len = section.record_len();
        self.table(
            section,
            range.start as usize * len..range.end as usize * len,
        )
    }

    pub(crate) fn record<T: Record>(&self, section: SectionId, number: u32) -> Result<T, Reject> {
        let nonsense = Reject::Record(section);
        let end = number.checked_add(1).ok_or(nonsense)?;
        T::get(self.records(section, number..end)?).ok_or(nonsense)
    }

    /// Records of fragment `number` and of the one behind it.
    pub(crate) fn pair(&self, number: u32) -> Result<RecordPair, Reject> {
        if number >= self.fragments() {
            return Err(Reject::Record(SectionId::Fragments));
        }
        self.ends(number..number + 1)
    }

    /// Records of the first of `fragments` and of the one behind them.
    pub(crate) fn ends(&self, fragments: Range<u32>) -> Result<RecordPair, Reject> {
        let Range { start, end } = fragments;
        Ok(RecordPair {
            this: self.record(SectionId::Fragments, start)?,
            next: self.record(SectionId::Fragments, end)?,
            extra: [self.extra(start)?, self.extra(end)?],
        })
    }

    fn extra(&self, number: u32) -> Result<ExtraRec, Reject> {
        if self.section(SectionId::Extras).len == 0 {
            return Ok(ExtraRec::default());
        }
        self.record(SectionId::Extras, number)
    }

    /// A fragment's records in a table section.
    pub(crate) fn table_of(&self, number: u32, section: SectionId) -> Result<&'a [u8], Reject> {
        self.records(section, self.pair(number)?.records(section))
    }

    /// The groups of each section tile it; those of code also tile the fragments.
    pub(crate) fn check_group_table(&self) -> Option<()> {
        for id in SectionId::ALL {
            let section = self.section(id);
            let (mut at, mut fragment) = (section.offset, 0);
            for number in 0..section.groups {
                let group = self.group(id, number)?;
                let last = number + 1 == section.groups;
                let shape = match id {
                    SectionId::Hot | SectionId::Cold => {
                        group.len > 0 && (group.len as usize).is_multiple_of(crate::PAGE)
                    }
                    SectionId::Slots | SectionId::ExitSlots => {
                        let hot = self.group(SectionId::Hot, number)?;
                        group.len.is_multiple_of(8)
                            && (group.first, group.end) == (hot.first, hot.end)
                    }
                    _ => group.len as usize == GROUP || (last && group.len as usize <= GROUP),
                };
                if !shape || group.offset != at {
                    return None;
                }
                at = at.checked_add(group.len)?;
                if id >= SectionId::Hot {
                    if group.first != fragment || group.end < group.first {
                        return None;
                    }
                    fragment = group.end;
                }
            }
            let covered = id < SectionId::Hot || fragment == self.fragments();
            if at - section.offset != section.len || !covered {
                return None;
            }
        }
        let slots = [SectionId::Slots, SectionId::ExitSlots].map(|id| self.section(id).groups);
        (slots == [self.hot_groups(); 2] && self.has_room_for_spares()).then_some(())
    }
}
