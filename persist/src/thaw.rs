//! From a unit back to fragments, free of placement and links.

use crate::Reject;
use crate::file::UnitFile;
use crate::layout::SectionId;
use crate::slot::SlotValue;
use crate::spec::Piece;
use crate::tables::FragmentInfo;
use alloc::vec::Vec;
use ppin_abi::record::stub;
use ppin_relocator::{Fragment, FragmentRef, PcMap, SlotInit, normalise};

/// A fragment taken out of a unit, with all that was written with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thawed {
    /// The fragment; its relocated fields are zero.
    pub fragment: Fragment,
    /// Bits of [`crate::unit_flag`].
    pub flags: u32,
    /// [`crate::source_hash`] of the app bytes it was made from.
    pub source_hash: u64,
    /// The tool's record of it.
    pub tool: Vec<u8>,
}

impl Thawed {
    /// As the writer takes it.
    #[must_use]
    pub fn piece(&self) -> Piece<'_> {
        Piece {
            fragment: FragmentRef::from(&self.fragment),
            flags: self.flags,
            source_hash: self.source_hash,
            tool: &self.tool,
        }
    }
}

impl UnitFile<'_> {
    /// Rebuilds fragment `number` as it was given to the writer. Verifies all that it
    /// reads.
    ///
    /// # Errors
    /// A part of the unit that it needs is damaged, or there is no such fragment.
    pub fn thaw(&self, number: u32) -> Result<Thawed, Reject> {
        self.check_code_of(&self.unit().info(number)?)?;
        self.rebuild(number)
    }

    /// [`Self::thaw`] for code that is verified.
    fn rebuild(&self, number: u32) -> Result<Thawed, Reject> {
        let unit = self.unit();
        let info = unit.info(number)?;
        self.check_exit_slots(&info)?;
        let mut fragment = Fragment {
            head: info.head,
            context: info.context,
            source_len: info.source_len,
            beyond: info.beyond,
            instructions: info.instructions,
            shape: info.shape,
            entry: info.before,
            hot: self.hot_bytes(&info)?.to_vec(),
            cold: self.record_bytes(&info)?.to_vec(),
            slots: self.slots(&info)?,
            relocs: unit.relocs(number)?.collect::<Result<_, _>>()?,
            exits: unit.exits(number)?.collect::<Result<_, _>>()?,
            pc_map: self.pc_map(number)?,
            counts: unit.counts(number)?.collect(),
        };
        normalise(&mut fragment);
        Ok(Thawed {
            fragment,
            flags: info.flags,
            source_hash: unit.source(number)?.hash,
            tool: unit.tool_record(number)?.to_vec(),
        })
    }

    /// The pc map of a fragment, if all its rows make sense.
    fn pc_map(&self, number: u32) -> Result<PcMap, Reject> {
        let rows: Option<PcMap> = self.unit().checked_pc_rows(number)?.collect();
        rows.ok_or(Reject::Record(SectionId::PcRows))
    }

    /// All fragments, in order.
    ///
    /// # Errors
    /// The unit is damaged.
    pub fn thaw_all(&self) -> Result<Vec<Thawed>, Reject> {
        self.thaw_each()?.collect()
    }

    /// The same, one after the other.
    pub(crate) fn thaw_each(
        &self,
    ) -> Result<impl ExactSizeIterator<Item = Result<Thawed, Reject>>, Reject> {
        self.check_groups()?;
        Ok((0..self.unit().fragments()).map(|number| self.rebuild(number)))
    }

    /// The slot of each stub leads into it.
    fn check_exit_slots(&self, info: &FragmentInfo) -> Result<(), Reject> {
        let leave = |number| info.cold.start + stub::at(number) + stub::LEAVE;
        let right =
            |(number, bits)| SlotValue::decode(bits) == Some(SlotValue::Cold(leave(number)));
        let right = self.exit_slot_bits(info)?.enumerate().all(right);
        right
            .then_some(())
            .ok_or(Reject::Record(SectionId::ExitSlots))
    }

    fn slots(&self, info: &FragmentInfo) -> Result<Vec<SlotInit>, Reject> {
        let nonsense = Reject::Record(SectionId::Slots);
        let value = |bits| {
            Some(match SlotValue::decode(bits)? {
                SlotValue::App(off) => SlotInit::App(off),
                SlotValue::Landing(off) => SlotInit::Landing(off),
                SlotValue::Prediction(off) => SlotInit::Prediction(off),
                SlotValue::Hot(off) if off == info.entry() => SlotInit::Entry,
                SlotValue::Hot(off) if info.hot.contains(&off) => {
                    SlotInit::Behind(off - info.hot.start)
                }
                SlotValue::Case(off) if info.hot.contains(&off) => {
                    SlotInit::Case(off - info.hot.start)
                }
                SlotValue::ImageCounters => SlotInit::ImageCounters,
                SlotValue::Bundles(count) => SlotInit::Bundles(count),
                SlotValue::Hot(_) | SlotValue::Case(_) | SlotValue::Cold(_) => return None,
            })
        };
        let bits = self.slot_bits(info)?;
        bits.map(|bits| value(bits).ok_or(nonsense)).collect()
    }
}
