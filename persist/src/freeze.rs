//! The writer: one pass that appends the file's bytes in order.

use crate::apart;
use crate::checksum;
use crate::layout::{CHECKSUM_AT, FILL, FORMAT_VERSION, MAGIC, SectionId};
use crate::plan::{EntryKey, Plan};
use crate::record::{
    EXPLORED, ExtraRec, FragmentRec, HAS_ABSOLUTE, HeaderRec, IndexRec, Record, SourceRec, Stored,
};
use crate::slot::SlotValue;
use crate::spec::{FreezeError, Piece, UnitSpec};
use alloc::vec::Vec;
use ppin_abi::addr::ImageBase;
use ppin_abi::area::LAYOUT_VERSION;
use ppin_abi::record::stub;
use ppin_relocator::{
    FragmentRef, Placement, Reloc, RelocKind, Section, SlotInit, apply_parts, cells_of,
};

/// The bytes of a unit file for `spec`.
///
/// Direct exits whose target is a fragment of the same unit are linked: their
/// branch goes straight there. All other relocated fields get their values for
/// `spec.displacement`, or for the region of large units.
///
/// # Errors
/// See [`FreezeError`]; a caller can leave out the fragment named and try again.
pub fn freeze(spec: &UnitSpec<'_>) -> Result<Vec<u8>, FreezeError> {
    let plan = Plan::new(spec)?;
    let spec = UnitSpec {
        displacement: apart::displacement(spec.displacement, plan.file_len),
        ..*spec
    };
    let mut writer = Writer {
        spec: &spec,
        out: Vec::with_capacity(plan.file_len as usize),
        plan,
    };
    writer.out.resize(writer.plan.head_len as usize, 0);
    writer.tables()?;
    writer.code()?;
    writer.slots()?;
    writer.exit_slots();
    debug_assert_eq!(writer.out.len(), writer.plan.file_len as usize);
    writer.head();
    Ok(writer.out)
}

struct Writer<'a> {
    spec: &'a UnitSpec<'a>,
    plan: Plan,
    out: Vec<u8>,
}

impl Writer<'_> {
    /// Fills up to the start of `section`.
    fn begin(&mut self, section: SectionId) {
        let at = self.plan.sections[section as usize].offset as usize;
        debug_assert!(self.out.len() <= at);
        self.out.resize(at, 0);
    }

    fn tables(&mut self) -> Result<(), FreezeError> {
        self.index();
        self.sources();
        self.fragments()?;
        self.extras();
        self.records(SectionId::Relocs, |piece| piece.fragment.relocs)?;
        self.records(SectionId::Exits, |piece| piece.fragment.exits)?;
        self.pc_maps();
        self.records(SectionId::Counts, |piece| piece.fragment.counts)?;
        self.spill_sets();
        self.begin(SectionId::Tool);
        for piece in self.spec.fragments {
            self.out.extend_from_slice(piece.tool);
        }
        Ok(())
    }

    fn index(&mut self) {
        self.begin(SectionId::Index);
        for &(key, fragment) in &self.plan.index {
            let head = key.head();
            IndexRec { head, fragment }.put(&mut self.out);
        }
    }

    fn sources(&mut self) {
        self.begin(SectionId::Sources);
        for piece in self.spec.fragments {
            let hash = piece.source_hash;
            SourceRec { hash }.put(&mut self.out);
        }
    }

    fn fragments(&mut self) -> Result<(), FreezeError> {
        self.begin(SectionId::Fragments);
        let mut next = FragmentRec::default();
        for (number, piece) in self.spec.fragments.iter().enumerate() {
            let this = self.fragment(number, piece, next);
            let this = this.ok_or(FreezeError::Malformed { fragment: number })?;
            this.put(&mut self.out);
            let fragment = &piece.fragment;
            next.first_slot += fragment.slots.len() as u32;
            next.first_reloc += fragment.relocs.len() as u32;
            next.first_exit += fragment.exits.len() as u32;
            next.first_pc_byte += fragment.pc_map.bytes().len() as u32;
        }
        next.put(&mut self.out);
        Ok(())
    }

    /// The record of fragment `number`, whose records in other sections begin as `firsts` says; `None`: it
    /// does not fit.
    fn fragment(
        &self,
        number: usize,
        piece: &Piece<'_>,
        firsts: FragmentRec,
    ) -> Option<FragmentRec> {
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
            ..firsts
        };
        this.with(fragment.hot.len(), piece.flags)
    }

    fn extras(&mut self) {
        if self.plan.sections[SectionId::Extras as usize].len == 0 {
            return;
        }
        self.begin(SectionId::Extras);
        let mut next = ExtraRec::default();
        for piece in self.spec.fragments {
            next.beyond = piece.fragment.beyond;
            next.put(&mut self.out);
            next.first_count += piece.fragment.counts.len() as u32;
            next.first_tool_byte += piece.tool.len() as u32;
        }
        next.beyond = 0;
        next.put(&mut self.out);
    }

    fn records<'p, T>(
        &mut self,
        section: SectionId,
        table: impl Fn(&Piece<'p>) -> &'p [T],
    ) -> Result<(), FreezeError>
    where
        Self: 'p,
        T: Stored + 'p,
    {
        self.begin(section);
        for (number, piece) in self.spec.fragments.iter().enumerate() {
            for row in table(piece) {
                let row = row
                    .store()
                    .ok_or(FreezeError::Malformed { fragment: number })?;
                row.put(&mut self.out);
            }
        }
        Ok(())
    }

    fn pc_maps(&mut self) {
        self.begin(SectionId::PcRows);
        for piece in self.spec.fragments {
            self.out.extend_from_slice(piece.fragment.pc_map.bytes());
        }
    }

    fn spill_sets(&mut self) {
        self.begin(SectionId::Spills);
        for set in &self.plan.spills.sets {
            self.out.extend_from_slice(&set.to_bytes());
        }
    }

    /// Both code sections: copied, relocated, linked.
    fn code(&mut self) -> Result<(), FreezeError> {
        let start = self.plan.sections[SectionId::Hot as usize].offset as usize;
        let cold = self.plan.sections[SectionId::Cold as usize].offset as usize;
        let slots = self.plan.sections[SectionId::Slots as usize].offset as usize;
        let exit_slots = self.plan.sections[SectionId::ExitSlots as usize].offset as usize;
        self.begin(SectionId::Hot);
        self.out.resize(slots, FILL);
        let (hot_bytes, cold_bytes) = self.out[start..].split_at_mut(cold - start);
        let mut coder = Coder {
            plan: &self.plan,
            spec: self.spec,
            hot_va: self
                .spec
                .image_base
                .0
                .wrapping_add(self.spec.displacement as u64),
            cold_from_hot: (cold - start) as u64,
            slots_from_hot: (slots - start) as u64,
            exit_slots_from_hot: (exit_slots - start) as u64,
            slot: 0,
            exit: 0,
        };
        for number in 0..self.spec.fragments.len() {
            coder.fragment(number, hot_bytes, cold_bytes)?;
        }
        Ok(())
    }

    fn slots(&mut self) -> Result<(), FreezeError> {
        self.begin(SectionId::Slots);
        for (number, piece) in self.spec.fragments.iter().enumerate() {
            let (hot, _) = self.plan.places[number];
            for slot in piece.fragment.slots {
                let value = match *slot {
                    SlotInit::App(off) => SlotValue::App(off),
                    SlotInit::Landing(off) => SlotValue::Landing(off),
                    SlotInit::Prediction(off) => SlotValue::Prediction(off),
                    SlotInit::Entry => SlotValue::Hot(hot + u32::from(piece.fragment.entry)),
                    SlotInit::ImageCounters => SlotValue::ImageCounters,
                    SlotInit::Bundles(count @ 1..) => SlotValue::Bundles(count),
                    SlotInit::Cold(_) | SlotInit::Bundles(0) => {
                        return Err(FreezeError::Malformed { fragment: number });
                    }
                };
                self.out.extend_from_slice(&value.encode().to_le_bytes());
            }
        }
        Ok(())
    }

    fn exit_slots(&mut self) {
        self.begin(SectionId::ExitSlots);
        for (piece, (_, cold)) in self.spec.fragments.iter().zip(&self.plan.places) {
            for number in 0..piece.fragment.exits.len() {
                let value = SlotValue::Cold(cold + stub::at(number) + stub::LEAVE);
                self.out.extend_from_slice(&value.encode().to_le_bytes());
            }
        }
    }

    /// The head comes last: it holds the checksums of all the rest.
    fn head(&mut self) {
        self.finish_groups();
        let mut head = Vec::with_capacity(self.plan.head_len as usize);
        self.header().put(&mut head);
        for group in &self.plan.groups {
            group.put(&mut head);
        }
        head.extend_from_slice(self.spec.image_path);
        head.extend_from_slice(self.spec.label);
        debug_assert_eq!(head.len(), self.plan.head_len as usize);
        if let Some(checksum) = checksum::head(&head, CHECKSUM_AT) {
            head[CHECKSUM_AT..CHECKSUM_AT + 8].copy_from_slice(&checksum.to_le_bytes());
        }
        self.out[..head.len()].copy_from_slice(&head);
    }

    fn finish_groups(&mut self) {
        let index = self.plan.sections[SectionId::Index as usize];
        for (number, group) in self.plan.groups.iter_mut().enumerate() {
            let start = group.offset as usize;
            group.checksum = checksum::group(&self.out[start..start + group.len as usize]);
            let in_index = (number as u32).checked_sub(index.first_group);
            if in_index.is_some_and(|number| number < index.groups) {
                let entry = (group.offset - index.offset) as usize / SectionId::Index.record_len();
                let (key, _) = self.plan.index[entry];
                group.first = key.head() as u32;
                group.end = key.context();
            }
        }
    }

    fn header(&self) -> HeaderRec {
        let absolute = self.spec.fragments.iter().any(has_absolute);
        HeaderRec {
            magic: MAGIC,
            format: FORMAT_VERSION,
            layout: LAYOUT_VERSION,
            file_len: u64::from(self.plan.file_len),
            checksum: 0,
            image: self.spec.key.image,
            engine: self.spec.key.engine,
            tool: self.spec.key.tool,
            displacement: self.spec.displacement,
            abs_base: if absolute { self.spec.image_base.0 } else { 0 },
            head_len: self.plan.head_len,
            fragments: self.spec.fragments.len() as u32,
            path_len: self.spec.image_path.len() as u32,
            label_len: self.spec.label.len() as u16,
            flags: if absolute { HAS_ABSOLUTE } else { 0 }
                | if self.spec.explored { EXPLORED } else { 0 },
            sections: self.plan.sections,
        }
    }
}

fn has_absolute(piece: &Piece<'_>) -> bool {
    let absolute = |kind| matches!(kind, RelocKind::AppAbs32(_));
    piece
        .fragment
        .relocs
        .iter()
        .any(|reloc| absolute(reloc.kind))
}

/// Whether the fragment asks for all cells that its code names, and only its hot code does.
fn has_its_cells(fragment: &FragmentRef<'_>) -> bool {
    let count = || cells_of(fragment.slots).unwrap_or(0);
    let fine = |reloc: &Reloc| match reloc.kind {
        RelocKind::Cell(index) => index < count() && reloc.section == Section::Hot,
        _ => true,
    };
    fragment.relocs.iter().all(fine)
}

/// Puts fragments into the code sections.
struct Coder<'a> {
    plan: &'a Plan,
    spec: &'a UnitSpec<'a>,
    hot_va: u64,
    cold_from_hot: u64,
    slots_from_hot: u64,
    exit_slots_from_hot: u64,
    /// Slots of the fragments before, but for those of exits.
    slot: u64,
    /// Exits of the fragments before.
    exit: u64,
}

impl Coder<'_> {
    fn fragment(
        &mut self,
        number: usize,
        hot_section: &mut [u8],
        cold_section: &mut [u8],
    ) -> Result<(), FreezeError> {
        let fragment = &self.spec.fragments[number].fragment;
        if !has_its_cells(fragment) {
            return Err(FreezeError::Malformed { fragment: number });
        }
        let (hot_at, cold_at) = self.plan.places[number];
        let hot = &mut hot_section[hot_at as usize..][..fragment.hot.len()];
        let cold = &mut cold_section[cold_at as usize..][..fragment.cold.len()];
        hot.copy_from_slice(fragment.hot);
        cold.copy_from_slice(fragment.cold);
        apply_parts(
            fragment.relocs,
            fragment.exits,
            &self.placement(hot_at, cold_at),
            hot,
            cold,
        )
        .map_err(|error| FreezeError::Reach {
            fragment: number,
            reloc: error.reloc,
        })?;
        self.link(number, hot)
            .ok_or(FreezeError::Malformed { fragment: number })?;
        self.slot += fragment.slots.len() as u64;
        self.exit += fragment.exits.len() as u64;
        Ok(())
    }

    fn placement(&self, hot_at: u32, cold_at: u32) -> Placement {
        let base = self.hot_va;
        let cold = base.wrapping_add(self.cold_from_hot);
        let slots = base.wrapping_add(self.slots_from_hot);
        Placement {
            hot: base.wrapping_add(u64::from(hot_at)),
            cold: cold.wrapping_add(u64::from(cold_at)),
            slots: slots.wrapping_add(8 * self.slot),
            exit_slots: base.wrapping_add(self.exit_slots_from_hot + 8 * self.exit),
            image: ImageBase(self.spec.image_base.0),
            cells: 0,
        }
    }

    /// Aims each exit's branch at its target, if that is in this unit. Offsets
    /// are those from the start of the hot section, all within 2 GiB.
    fn link(&self, number: usize, hot: &mut [u8]) -> Option<()> {
        let (hot_at, _) = self.plan.places[number];
        for exit in self.spec.fragments[number].fragment.exits {
            let target = EntryKey::new(exit.target.0, exit.context.0);
            let Some(entry) = self.plan.entries.get(&target) else {
                continue;
            };
            let branch = exit.branch as usize;
            let field = hot.get_mut(branch..)?.first_chunk_mut::<4>()?;
            let from = i64::from(hot_at) + i64::from(exit.branch) + 4;
            *field = i32::try_from(i64::from(*entry) - from).ok()?.to_le_bytes();
        }
        Some(())
    }
}
