//! The index of a unit: which fragments are entered at an app address.

use crate::Reject;
use crate::entry::EntryKey;
use crate::layout::{GROUP, SectionId};
use crate::record::{FragmentRec, IndexRec};
use crate::search::{partition, read_at};
use crate::tables::Entry;
use crate::unit::VerifiedUnit;
use core::ops::Range;
use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;

impl VerifiedUnit<'_> {
    /// The fragment for an entry point.
    ///
    /// # Errors
    /// The part of the index that would hold it is damaged, or the record of a fragment that begins there.
    pub fn lookup(&self, head: ImageOff, context: Context) -> Result<Option<Entry>, Reject> {
        let Some(range) = self.group_for(EntryKey::new(head.0, context.0)) else {
            return Ok(None);
        };
        let bytes = self.records(SectionId::Index, range.clone())?;
        let record = |number: u32| read_at::<IndexRec>(bytes, number - range.start);
        let before = |number| record(number).is_some_and(|record| record.head < head.0);
        let first = partition(range.clone(), before);
        // Few fragments begin at one address, each for another context.
        let there = (first..range.end).map_while(record);
        for record in there.take_while(|record| record.head == head.0) {
            let entry = self.entry_of(record)?;
            if entry.context == context {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Numbers, in the order of the index, of the group that would hold `wanted`.
    fn group_for(&self, wanted: EntryKey) -> Option<Range<u32>> {
        let groups = self.section(SectionId::Index).groups;
        let first_of = |group: u32| {
            let group = self.group(SectionId::Index, group).unwrap_or_default();
            EntryKey::new(group.first as i32, group.end)
        };
        let behind = partition(0..groups, |group| first_of(group) <= wanted);
        let per_group = (GROUP / SectionId::Index.record_len()) as u32;
        let first = behind.checked_sub(1)? * per_group;
        Some(first..first.saturating_add(per_group).min(self.fragments()))
    }

    /// Entry `number` in the order of the index.
    ///
    /// # Errors
    /// The entry is damaged, or there is none.
    pub fn entry(&self, number: u32) -> Result<Entry, Reject> {
        self.entry_of(self.record(SectionId::Index, number)?)
    }

    /// Number, in the order of the index, of the first entry at `head` or behind it; damaged
    /// ones count as before.
    #[must_use]
    pub fn first_entry_from(&self, head: ImageOff) -> u32 {
        partition(0..self.fragments(), |number| {
            let record = self.record::<IndexRec>(SectionId::Index, number);
            record.map_or(true, |record| record.head < head.0)
        })
    }

    fn entry_of(&self, record: IndexRec) -> Result<Entry, Reject> {
        let nonsense = Reject::Record(SectionId::Index);
        if record.fragment >= self.fragments() {
            return Err(nonsense);
        }
        let fragment: FragmentRec = self.record(SectionId::Fragments, record.fragment)?;
        let hot = fragment.hot.checked_add(fragment.entry.into());
        let hot = hot.filter(|hot| *hot < self.section(SectionId::Hot).len);
        match hot {
            Some(hot) if fragment.head == record.head => Ok(Entry {
                head: ImageOff(record.head),
                context: Context(fragment.context.into()),
                hot,
                fragment: record.fragment,
            }),
            _ => Err(nonsense),
        }
    }
}
