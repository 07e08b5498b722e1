//! Which exits are linked in the file, and the stubs of those that are not.
//!
//! An exit whose target is in the same unit leads straight there. It has no stub and no slot: it would need them only
//! if the code that it leads to must not run after all, which is rare. For that the unit has a few *spare* stubs, which
//! belong to no exit until a run gives them to one ([`VerifiedUnit::spares`]). Where the others lead: [`crate::linker`].

use crate::Reject;
use crate::layout::{PAGE, SectionId};
use crate::record::{ExitRec, LINKED, SparesRec, Stored};
use crate::tables::Records;
use crate::unit::VerifiedUnit;
use ppin_abi::record::stub;
use ppin_relocator::Exit;

/// One spare stub for so many linked exits.
const LINKED_FOR_ONE: usize = 8;
/// Most spare stubs.
const MOST_SPARE: usize = 512;

/// An exit as the table of exits has it.
#[derive(Clone, Copy)]
pub(crate) struct KeptExit {
    pub exit: Exit,
    pub linked: bool,
}

impl Stored for KeptExit {
    type Record = ExitRec;

    fn store(&self) -> Option<ExitRec> {
        let record = self.exit.store()?;
        let flag = if self.linked { LINKED } else { 0 };
        Some(ExitRec {
            context: record.context | flag,
            ..record
        })
    }

    fn load(record: ExitRec) -> Option<Self> {
        let linked = record.context & LINKED != 0;
        let context = record.context & !LINKED;
        let exit = Exit::load(ExitRec { context, ..record })?;
        Some(Self { exit, linked })
    }
}

/// Stubs that belong to no exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spares {
    /// How many.
    pub count: u32,
    /// Offset of the first in the cold section.
    pub cold: u32,
    /// Number of its slot among those of exits.
    pub slot: u32,
}

impl Spares {
    /// The spare stubs of a unit: `used` bytes of its cold section are in use, and `linked` of its exits are linked, the
    /// other `stubs` are not. They fill up the last page at least.
    pub(crate) fn plan(used: u64, linked: usize, stubs: u32) -> Self {
        let most = linked.min(MOST_SPARE);
        let cold = used.next_multiple_of(4);
        let room = |count: usize| cold + u64::from(stub::all(count));
        let end = room(linked.div_ceil(LINKED_FOR_ONE).min(most)).next_multiple_of(PAGE as u64);
        let count = (0..=most).rev().find(|count| room(*count) <= end);
        Self {
            count: count.unwrap_or(0) as u32,
            cold: cold as u32,
            slot: stubs,
        }
    }

    /// Bytes of their code.
    pub(crate) fn len(&self) -> u32 {
        stub::all(self.count as usize)
    }

    pub(crate) fn record(self) -> SparesRec {
        let Self { count, cold, slot } = self;
        SparesRec { count, cold, slot }
    }
}

impl<'a> VerifiedUnit<'a> {
    /// Direct exits of fragment `number`, and whether they are linked in the file.
    ///
    /// # Errors
    /// The table is damaged; each item by itself may make no sense.
    pub(crate) fn kept_exits(
        &self,
        number: u32,
    ) -> Result<impl Iterator<Item = Result<KeptExit, Reject>> + use<'a>, Reject> {
        let bytes = self.table_of(number, SectionId::Exits)?;
        let rows = Records::<KeptExit>::new(bytes, SectionId::Exits);
        Ok(rows.map(|row| row.ok_or(Reject::Record(SectionId::Exits))))
    }

    /// Which exits of fragment `number` have stubs, in their order.
    ///
    /// # Errors
    /// The table is damaged.
    pub fn with_stubs(&self, number: u32) -> Result<impl Iterator<Item = usize> + use<'a>, Reject> {
        let exits = self.kept_exits(number)?.enumerate();
        Ok(exits.filter_map(|(nth, kept)| kept.is_ok_and(|kept| !kept.linked).then_some(nth)))
    }

    /// Its stubs that belong to no exit.
    #[must_use]
    pub fn spares(&self) -> Spares {
        let SparesRec { count, cold, slot } = self.header.spares;
        Spares { count, cold, slot }
    }

    /// Whether spare stubs and their slots end in their sections.
    pub(crate) fn has_room_for_spares(&self) -> bool {
        let Spares { count, cold, slot } = self.spares();
        let [stubs, slots] = [SectionId::Cold, SectionId::ExitSlots].map(|id| self.section(id).len);
        let slots_end = slot.checked_add(count);
        let fit = slots_end.is_some_and(|end| end == slots / 8) && cold <= stubs;
        fit && count as usize <= MOST_SPARE && stub::all(count as usize) <= stubs - cold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_stubs_fill_up_the_last_page() {
        let spares = Spares::plan(1001, 1000, 7);
        assert_eq!((spares.cold, spares.slot), (1004, 7));
        let end = u64::from(spares.cold + spares.len());
        assert!(end.next_multiple_of(PAGE as u64) - end < 33);
        assert!(spares.count >= 125);
    }

    #[test]
    fn there_are_no_more_than_linked_exits() {
        assert_eq!(Spares::plan(0, 3, 0).count, 3);
        assert_eq!(Spares::plan(0, 0, 5).count, 0);
        assert!(Spares::plan(0, 1 << 20, 0).count as usize <= MOST_SPARE);
    }

    #[test]
    fn that_an_exit_is_linked_is_kept_with_it() {
        let exit = Exit {
            target: ppin_abi::addr::ImageOff(-5),
            context: ppin_abi::context::Context(65),
            branch: 12,
        };
        for linked in [false, true] {
            let kept = KeptExit { exit, linked }.store().and_then(KeptExit::load);
            let kept = kept.expect("it fits");
            assert_eq!((kept.exit, kept.linked), (exit, linked));
        }
    }
}
