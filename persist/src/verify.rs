//! Verifying the groups of a unit: code and slots as they lie in the file, and tables that must be sound
//! before code runs.

use crate::Reject;
use crate::group::CodeGroup;
use crate::layout::SectionId;
use crate::unit::VerifiedUnit;

impl VerifiedUnit<'_> {
    /// Verifies the bytes of a hot group, as they lie in the file.
    ///
    /// # Errors
    /// They are not what was written.
    pub fn check_hot(&self, number: u32, bytes: &[u8]) -> Result<(), Reject> {
        self.check(SectionId::Hot, number, bytes)
    }

    /// Verifies the bytes of a cold group, as they lie in the file.
    ///
    /// # Errors
    /// They are not what was written.
    pub fn check_cold(&self, number: u32, bytes: &[u8]) -> Result<(), Reject> {
        self.check(SectionId::Cold, number, bytes)
    }

    /// Verifies the bytes of a slot group, before they are rebased.
    ///
    /// # Errors
    /// They are not what was written.
    pub fn check_slots(&self, number: u32, bytes: &[u8]) -> Result<(), Reject> {
        self.check(SectionId::Slots, number, bytes)
    }

    /// The same of the slots of the exits of a hot group.
    ///
    /// # Errors
    /// They are not what was written.
    pub fn check_exit_slots(&self, number: u32, bytes: &[u8]) -> Result<(), Reject> {
        self.check(SectionId::ExitSlots, number, bytes)
    }

    /// Verifies what a run may read of hot group `group` once its code runs: records, exits,
    /// pc map and count rows of its fragments, and all sets of spilled registers. A fault, a signal or an exit
    /// reads them when it is too late to translate afresh.
    ///
    /// # Errors
    /// One of these tables is damaged.
    pub fn check_tables_of(&self, group: &CodeGroup) -> Result<(), Reject> {
        let fragments = &group.fragments;
        if fragments.is_empty() {
            return Ok(());
        }
        let behind = fragments
            .end
            .checked_add(1)
            .ok_or(Reject::Record(SectionId::Fragments))?;
        self.records(SectionId::Fragments, fragments.start..behind)?;
        if self.section(SectionId::Extras).len > 0 {
            self.records(SectionId::Extras, fragments.start..behind)?;
        }
        let all = self.ends(fragments.clone())?;
        for section in [SectionId::Exits, SectionId::PcRows, SectionId::Counts] {
            self.records(section, all.records(section))?;
        }
        self.records(SectionId::Spills, 0..self.spill_sets())?;
        Ok(())
    }

    /// Verifies all tables at once.
    ///
    /// # Errors
    /// The first damaged group.
    pub fn check_tables(&self) -> Result<(), Reject> {
        for section in SectionId::ALL {
            if section < SectionId::Hot {
                self.table(section, 0..self.section(section).len as usize)?;
            }
        }
        Ok(())
    }
}
