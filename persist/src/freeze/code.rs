//! The code sections.

use crate::layout::SectionId;
use crate::plan::{EntryKey, Plan};
use crate::spec::{FreezeError, UnitSpec};
use ppin_abi::addr::ImageBase;
use ppin_relocator::{FragmentRef, Placement, Reloc, RelocKind, Section, apply_parts, cells_of};

/// Whether the fragment asks for all cells that its code names, and only its hot code does.
fn has_its_cells(fragment: &FragmentRef<'_>) -> bool {
    let count = || cells_of(fragment.slots).unwrap_or(0);
    let fine = |reloc: &Reloc| match reloc.kind {
        RelocKind::Cell(index) => index < count() && reloc.section == Section::Hot,
        _ => true,
    };
    fragment.relocs.iter().all(fine)
}

/// Puts fragments into the code sections: copied, relocated, linked.
pub(super) struct Coder<'a> {
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

impl<'a> Coder<'a> {
    /// For a unit that is laid out as `plan` says.
    pub(super) fn new(spec: &'a UnitSpec<'a>, plan: &'a Plan) -> Self {
        let hot = plan.sections[SectionId::Hot as usize].offset;
        let from_hot = |id: SectionId| u64::from(plan.sections[id as usize].offset - hot);
        Self {
            plan,
            spec,
            hot_va: spec.image_base.0.wrapping_add(spec.displacement as u64),
            cold_from_hot: from_hot(SectionId::Cold),
            slots_from_hot: from_hot(SectionId::Slots),
            exit_slots_from_hot: from_hot(SectionId::ExitSlots),
            slot: 0,
            exit: 0,
        }
    }

    /// Puts the next fragment, which is `number`, where it belongs.
    pub(super) fn fragment(
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
            let entry = self.plan.entries.get(&target).copied();
            let Some(entry) = entry.or_else(|| self.plan.side_entrance(self.spec, exit)) else {
                continue;
            };
            let branch = exit.branch as usize;
            let field = hot.get_mut(branch..)?.first_chunk_mut::<4>()?;
            let from = i64::from(hot_at) + i64::from(exit.branch) + 4;
            *field = i32::try_from(i64::from(entry) - from).ok()?.to_le_bytes();
        }
        Some(())
    }
}
