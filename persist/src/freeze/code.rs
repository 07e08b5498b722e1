//! The code sections.

use crate::layout::SectionId;
use crate::plan::Plan;
use crate::spec::{FreezeError, UnitSpec};
use ppin_abi::addr::ImageBase;
use ppin_abi::record::stub;
use ppin_relocator::{Exit, FragmentRef, Placement, RangeError, Reloc, RelocKind, Section};
use ppin_relocator::{aim, apply_parts, cells_of, write_stubs};

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
    exit: usize,
    /// Of these, the ones that have stubs.
    stub: u64,
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
            stub: 0,
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
        let stubs = self.plan.stubs[number];
        let room = stub::room(stubs as usize);
        let hot = &mut hot_section[hot_at as usize..][..fragment.hot.len()];
        let cold = &mut cold_section[cold_at as usize..][..room as usize + fragment.cold.len()];
        let (before, cold) = cold.split_at_mut(room as usize);
        hot.copy_from_slice(fragment.hot);
        cold.copy_from_slice(fragment.cold);
        let place = self.placement(hot_at, cold_at + room);
        let reach = |error: RangeError| FreezeError::Reach {
            fragment: number,
            reloc: error.reloc,
        };
        apply_parts(fragment.relocs, &place, hot, cold).map_err(reach)?;
        self.aim(fragment.exits, stubs, &place, hot)
            .map_err(|_| FreezeError::Malformed { fragment: number })?;
        self.stubs(stubs, cold_at, before)?;
        self.slot += fragment.slots.len() as u64;
        self.exit += fragment.exits.len();
        self.stub += u64::from(stubs);
        Ok(())
    }

    /// The stubs that belong to no exit, behind the last fragment.
    pub(super) fn spares(&mut self, cold_section: &mut [u8]) -> Result<(), FreezeError> {
        let spares = self.plan.spares;
        let to = &mut cold_section[spares.cold as usize..];
        self.stubs(spares.count, spares.cold, to)
    }

    /// Writes the next `count` stubs `to` offset `at` of the cold section.
    fn stubs(&self, count: u32, at: u32, to: &mut [u8]) -> Result<(), FreezeError> {
        let cold = self.hot_va.wrapping_add(self.cold_from_hot);
        let slots = self.hot_va.wrapping_add(self.exit_slots_from_hot);
        let slot = slots.wrapping_add(8 * self.stub);
        let at = cold.wrapping_add(u64::from(at));
        write_stubs(count as usize, at, slot, to).ok_or(FreezeError::TooLarge)
    }

    fn placement(&self, hot_at: u32, cold_at: u32) -> Placement {
        let base = self.hot_va;
        let cold = base.wrapping_add(self.cold_from_hot);
        let slots = base.wrapping_add(self.slots_from_hot);
        Placement {
            hot: base.wrapping_add(u64::from(hot_at)),
            cold: cold.wrapping_add(u64::from(cold_at)),
            slots: slots.wrapping_add(8 * self.slot),
            image: ImageBase(self.spec.image_base.0),
            cells: 0,
        }
    }

    /// Aims each exit's branch at what it leads to: in this unit, or its stub, one of so many.
    fn aim(
        &self,
        exits: &[Exit],
        stubs: u32,
        place: &Placement,
        hot: &mut [u8],
    ) -> Result<(), RangeError> {
        let mut next = 0..stubs as usize;
        for (exit, link) in exits.iter().zip(&self.plan.links[self.exit..]) {
            let own = || next.next().map(|number| place.stub(number, stubs as usize));
            let linked = link.map(|hot| self.hot_va.wrapping_add(u64::from(hot)));
            let to = linked.or_else(own).unwrap_or_default();
            aim(exit, place.hot, to, hot)?;
        }
        Ok(())
    }
}
