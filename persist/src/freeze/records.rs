//! The tables and the slots.

use super::sections::Sections;
use crate::entry::Indexed;
use crate::layout::SectionId;
use crate::linked::KeptExit;
use crate::plan::Plan;
use crate::record::{ExtraRec, FragmentRec, IndexRec, SourceRec, Stored};
use crate::slot::SlotValue;
use crate::spec::Piece;
use ppin_abi::record::stub;
use ppin_relocator::{Exit, SlotInit};

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
        rows(out, SectionId::Relocs, fragment.relocs.iter().copied())?;
        rows(out, SectionId::Exits, self.kept(fragment.exits))?;
        out.bytes(SectionId::PcRows, fragment.pc_map.bytes());
        rows(out, SectionId::Counts, fragment.counts.iter().copied())?;
        out.bytes(SectionId::Tool, piece.tool);
        self.slots(number, piece, out)?;
        self.pass(number, piece);
        Some(())
    }

    /// The record behind the last fragment.
    pub(super) fn end(mut self, out: &mut Sections<'_>) {
        out.put(SectionId::Fragments, &self.next);
        self.more.beyond = 0;
        self.extra(out);
        let spares = self.plan.spares;
        exit_slots(spares.count, spares.cold, out);
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
            instructions: u8::try_from(fragment.instructions).ok()?,
            shape: fragment.shape.0,
            cold_len: u16::try_from(self.cold_len(number, piece)).ok()?,
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
                SlotInit::Case(off) => SlotValue::Case(hot + off),
                SlotInit::ImageCounters => SlotValue::ImageCounters,
                SlotInit::Bundles(count @ 1..) => SlotValue::Bundles(count),
                SlotInit::Cold(_) | SlotInit::Bundles(0) => return None,
            };
            out.bytes(SectionId::Slots, &value.encode().to_le_bytes());
        }
        exit_slots(self.plan.stubs[number], cold, out);
        Some(())
    }

    /// The exits of the next fragment, as they are kept.
    fn kept<'e>(&self, exits: &'e [Exit]) -> impl Iterator<Item = KeptExit> + use<'e, 'a> {
        let links = self.plan.links[self.next.first_exit as usize..].iter();
        exits.iter().zip(links).map(|(exit, link)| KeptExit {
            exit: *exit,
            linked: link.is_some(),
        })
    }

    fn cold_len(&self, number: usize, piece: &Piece<'_>) -> usize {
        let stubs = self.plan.stubs[number];
        stub::room(stubs as usize) as usize + piece.fragment.cold.len()
    }

    /// The next fragment's records lie behind those of `piece`.
    fn pass(&mut self, number: usize, piece: &Piece<'_>) {
        let fragment = &piece.fragment;
        self.next.first_slot += fragment.slots.len() as u32;
        self.next.first_reloc += fragment.relocs.len() as u32;
        self.next.first_exit += fragment.exits.len() as u32;
        self.next.first_stub += self.plan.stubs[number];
        self.next.first_pc_byte += fragment.pc_map.bytes().len() as u32;
        self.more.first_count += fragment.counts.len() as u32;
        self.more.first_tool_byte += piece.tool.len() as u32;
    }
}

/// The slots of `count` stubs, which begin at `cold` in the cold section.
fn exit_slots(count: u32, cold: u32, out: &mut Sections<'_>) {
    for number in 0..count as usize {
        let value = SlotValue::Cold(cold + stub::at(number) + stub::LEAVE);
        out.bytes(SectionId::ExitSlots, &value.encode().to_le_bytes());
    }
}

fn rows<T: Stored>(
    out: &mut Sections<'_>,
    section: SectionId,
    rows: impl Iterator<Item = T>,
) -> Option<()> {
    for row in rows {
        out.put(section, &row.store()?);
    }
    Some(())
}
