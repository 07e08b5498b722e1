//! Units that do not lie where they were laid out for.
//!
//! Hot code, cold code and slots keep their distances, being one mapping; so only
//! fields that refer to the app change, and among those absolute ones only if the
//! image itself lies elsewhere. They are written by group, when it is admitted; so are those that name
//! counter cells, which each run gives anew.

use crate::group::CodeGroup;
use crate::unit::VerifiedUnit;
use crate::{Reject, SectionId};
use core::ops::Range;
use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_relocator::{RelocKind, Section, cell};

/// A field that refers to the app.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AppField {
    /// Offset in its group.
    pub at: u32,
    /// Bytes from the field to the point that the CPU counts from.
    pub pc_bias: i32,
    /// The address in the image that it refers to.
    pub target: ImageOff,
    /// The field holds an address, not a distance.
    pub absolute: bool,
}

impl AppField {
    /// Value of the field when its group lies at `group_va` and the image at
    /// `base`, if that fits.
    #[must_use]
    pub fn value(&self, group_va: u64, base: ImageBase) -> Option<i32> {
        let target = self.target.at(base).0;
        let from = group_va
            .wrapping_add(u64::from(self.at))
            .wrapping_add(i64::from(self.pc_bias) as u64);
        let value = if self.absolute {
            target
        } else {
            target.wrapping_sub(from)
        };
        i32::try_from(value as i64).ok()
    }
}

/// A unit and the place where it lies now.
#[derive(Clone, Copy, Debug)]
pub struct MovedUnit<'u> {
    unit: &'u VerifiedUnit<'u>,
    /// Address of the hot section.
    hot_va: u64,
    base: ImageBase,
}

impl<'u> MovedUnit<'u> {
    /// `unit` with its hot section at `hot_va`, for an image at `base`.
    #[must_use]
    pub const fn new(unit: &'u VerifiedUnit<'u>, hot_va: u64, base: ImageBase) -> Self {
        Self { unit, hot_va, base }
    }

    /// Writes the app fields of hot group `group` into its bytes; says how many.
    ///
    /// # Errors
    /// A table is damaged, or a field does not reach; `bytes` must not be run then.
    pub fn fix_hot(&self, group: &CodeGroup, bytes: &mut [u8]) -> Result<u32, Reject> {
        let group_va = self.hot_va.wrapping_add(u64::from(group.offset));
        self.fix(group, Section::Hot, group_va, bytes)
    }

    /// The same for cold group `group`.
    ///
    /// # Errors
    /// As [`Self::fix_hot`].
    pub fn fix_cold(&self, group: &CodeGroup, bytes: &mut [u8]) -> Result<u32, Reject> {
        let geometry = self.unit.geometry();
        let cold_va = self
            .hot_va
            .wrapping_add(geometry.cold.start - geometry.hot.start);
        let group_va = cold_va.wrapping_add(u64::from(group.offset));
        self.fix(group, Section::Cold, group_va, bytes)
    }

    fn fix(
        &self,
        group: &CodeGroup,
        section: Section,
        group_va: u64,
        bytes: &mut [u8],
    ) -> Result<u32, Reject> {
        let mut written = 0;
        self.unit.each_app_field(group, section, |field| {
            let value = field.value(group_va, self.base).ok_or(Reject::Reach)?;
            let at = field.at as usize;
            let place = bytes.get_mut(at..at + 4);
            let place = place.ok_or(Reject::Record(SectionId::Relocs))?;
            place.copy_from_slice(&value.to_le_bytes());
            written += 1;
            Ok(())
        })?;
        Ok(written)
    }
}

impl VerifiedUnit<'_> {
    /// Calls `visit` for each field of `section` in `group` that refers to the app.
    ///
    /// # Errors
    /// A table is damaged, or `visit` failed.
    pub fn each_app_field(
        &self,
        group: &CodeGroup,
        section: Section,
        mut visit: impl FnMut(AppField) -> Result<(), Reject>,
    ) -> Result<(), Reject> {
        for number in group.fragments.clone() {
            let info = self.info(number)?;
            let code = match section {
                Section::Hot => &info.hot,
                Section::Cold => &info.records(),
            };
            for reloc in self.relocs(number)? {
                let reloc = reloc?;
                let (target, absolute) = match reloc.kind {
                    RelocKind::App(target) => (target, false),
                    RelocKind::AppAbs32(target) => (target, true),
                    _ => continue,
                };
                if reloc.section != section {
                    continue;
                }
                let at = field_in_group(group, code, reloc.at);
                visit(AppField {
                    at: at.ok_or(Reject::Record(SectionId::Relocs))?,
                    pc_bias: reloc.pc_bias,
                    target,
                    absolute,
                })?;
            }
        }
        Ok(())
    }
}

impl VerifiedUnit<'_> {
    /// Writes the fields of `group` that name cells of its fragment `number` into the `bytes` of its hot
    /// code; its `cells` lie at these displacements from `gs`. Says how many fields.
    ///
    /// # Errors
    /// A table is damaged, or a field does not reach; `bytes` must not be run then.
    pub fn fix_cells(
        &self,
        group: &CodeGroup,
        number: u32,
        cells: Range<u64>,
        bytes: &mut [u8],
    ) -> Result<u32, Reject> {
        let code = self.info(number)?.hot;
        let mut written = 0;
        for reloc in self.relocs(number)? {
            let reloc = reloc?;
            let RelocKind::Cell(index) = reloc.kind else {
                continue;
            };
            let at_gs = Some(cell(cells.start, index)).filter(|at| cells.contains(at));
            let at_gs = at_gs.ok_or(Reject::Record(SectionId::Relocs))?;
            let value = i32::try_from(at_gs).map_err(|_| Reject::Reach)?;
            let at =
                field_in_group(group, &code, reloc.at).filter(|_| reloc.section == Section::Hot);
            let field = at.and_then(|at| bytes.get_mut(at as usize..at as usize + 4));
            let field = field.ok_or(Reject::Record(SectionId::Relocs))?;
            field.copy_from_slice(&value.to_le_bytes());
            written += 1;
        }
        Ok(written)
    }
}

/// Offset in `group` of the four bytes at `at` in a fragment's code.
fn field_in_group(group: &CodeGroup, code: &Range<u32>, at: u32) -> Option<u32> {
    let start = code.start.checked_add(at)?;
    let end = start.checked_add(4)?;
    let inside = start >= group.offset && end <= code.end;
    inside.then(|| start - group.offset)
}
