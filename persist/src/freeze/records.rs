//! The tables and the slots.

use super::sections::Sections;
use crate::layout::SectionId;
use crate::plan::{Indexed, Plan};
use crate::record::{ExtraRec, FragmentRec, IndexRec, SourceRec, Stored};
use crate::slot::SlotValue;
use crate::spec::Piece;
use ppin_abi::record::stub;
use ppin_relocator::SlotInit;

/// Writes what the tables say of one fragment after the other.
pub(super) struct Tables<'a> {
    plan: &'a Plan,
    /// Where the next fragment's records begin.
    next: FragmentRec,
    more: ExtraRec,
}

impl<'a> Tables<'a> {
    /// For a unit that is laid out as `plan` says.
    pub(super) fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            next: FragmentRec::default(),
            more: ExtraRec::default(),
        }
    }

    /// The tables that do not go by fragments in order.
    pub(super) fn begin(&self, out: &mut Sections<'_>) {
        for &Indexed { key, fragment, .. } in &self.plan.index {
            let head = key.head();
            out.put(SectionId::Index, &IndexRec { head, fragment });
        }
        for set in &self.plan.spills.sets {
            out.bytes(SectionId::Spills, &set.to_bytes());
        }
    }

    /// Fragment `number`, which is the next one; `None`: it does not fit.
    pub(super) fn fragment(
        &mut self,
        number: usize,
        piece: &Piece<'_>,
        out: &mut Sections<'_>,
    ) -> Option<()> {
        let fragment = &piece.fragment;
        let hash = piece.source_hash;
        out.put(SectionId::Sources, &SourceRec { hash });
        out.put(SectionId::Fragments, &self.record(number, piece)?);
        self.more.beyond = fragment.beyond;
        self.extra(out);
        rows(out, SectionId::Relocs, fragment.relocs)?;
        rows(out, SectionId::Exits, fragment.exits)?;
        out.bytes(SectionId::PcRows, fragment.pc_map.bytes());
        rows(out, SectionId::Counts, fragment.counts)?;
        out.bytes(SectionId::Tool, piece.tool);
        self.slots(number, piece, out)?;
        self.pass(piece);
        Some(())
    }

    /// The record behind the last fragment.
    pub(super) fn end(mut self, out: &mut Sections<'_>) {
        out.put(SectionId::Fragments, &self.next);
        self.more.beyond = 0;
        self.extra(out);
    }

    fn record(&self, number: usize, piece: &Piece<'_>) -> Option<FragmentRec> {
        let fragment = &piece.fragment;
        let (hot, cold) = self.plan.places[number];
        let this = FragmentRec {
            head: fragment.head.0,
            hot,
            cold,
            first_spill_set: self.plan.spills.first(number),
            context: u16::try_from(fragment.context.0).ok()?,
            source_len: u16::try_from(fragment.source_len).ok()?,
            instructions: u16::try_from(fragment.instructions).ok()?,
            cold_len: u16::try_from(fragment.cold.len()).ok()?,
            entry: fragment.entry,
            ..self.next
        };
        this.with(fragment.hot.len(), piece.flags)
    }

    /// What instrumentation has added, if it has added something to any fragment.
    fn extra(&self, out: &mut Sections<'_>) {
        if self.plan.sections[SectionId::Extras as usize].len > 0 {
            out.put(SectionId::Extras, &self.more);
        }
    }

    fn slots(&self, number: usize, piece: &Piece<'_>, out: &mut Sections<'_>) -> Option<()> {
        let (hot, cold) = self.plan.places[number];
        for slot in piece.fragment.slots {
            let value = match *slot {
                SlotInit::App(off) => SlotValue::App(off),
                SlotInit::Landing(off) => SlotValue::Landing(off),
                SlotInit::Prediction(off) => SlotValue::Prediction(off),
                SlotInit::Entry => SlotValue::Hot(hot + u32::from(piece.fragment.entry)),
                SlotInit::Behind(off) => SlotValue::Hot(hot + off),
                SlotInit::ImageCounters => SlotValue::ImageCounters,
                SlotInit::Bundles(count @ 1..) => SlotValue::Bundles(count),
                SlotInit::Cold(_) | SlotInit::Bundles(0) => return None,
            };
            out.bytes(SectionId::Slots, &value.encode().to_le_bytes());
        }
        for number in 0..piece.fragment.exits.len() {
            let value = SlotValue::Cold(cold + stub::at(number) + stub::LEAVE);
            out.bytes(SectionId::ExitSlots, &value.encode().to_le_bytes());
        }
        Some(())
    }

    /// The next fragment's records lie behind those of `piece`.
    fn pass(&mut self, piece: &Piece<'_>) {
        let fragment = &piece.fragment;
        self.next.first_slot += fragment.slots.len() as u32;
        self.next.first_reloc += fragment.relocs.len() as u32;
        self.next.first_exit += fragment.exits.len() as u32;
        self.next.first_pc_byte += fragment.pc_map.bytes().len() as u32;
        self.more.first_count += fragment.counts.len() as u32;
        self.more.first_tool_byte += piece.tool.len() as u32;
    }
}

fn rows<T: Stored>(out: &mut Sections<'_>, section: SectionId, rows: &[T]) -> Option<()> {
    for row in rows {
        out.put(section, &row.store()?);
    }
    Some(())
}
