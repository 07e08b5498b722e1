//! The file's bytes, a writer for each section: so the fragments are gone through once, and what
//! belongs to one is read while it is near.

use crate::layout::{FILL, SECTIONS, SectionId};
use crate::plan::Plan;
use crate::record::Record;
use alloc::vec::Vec;
use rkyv::rancor::Failure;
use rkyv::ser::{Writer, writer::Buffer};

/// The file's bytes before anything is written to them: gaps in code are filled up.
pub(super) fn blank(plan: &Plan) -> Vec<u8> {
    let start = |id: SectionId| plan.sections[id as usize].offset as usize;
    let mut out = Vec::with_capacity(plan.file_len as usize);
    out.resize(start(SectionId::Hot), 0);
    out.resize(start(SectionId::Slots), FILL);
    out.resize(plan.file_len as usize, 0);
    out
}

/// A writer for each section; what is written to those of code has its place, so theirs have no room.
pub(super) struct Sections<'o> {
    writers: [Buffer<'o>; SECTIONS],
    /// Hot and cold code.
    pub code: [&'o mut [u8]; 2],
}

impl<'o> Sections<'o> {
    /// The sections of `out`, which is laid out as `plan` says.
    pub(super) fn of(plan: &Plan, out: &'o mut [u8]) -> Self {
        let mut rest = out;
        let mut at = 0;
        let mut code: [&mut [u8]; 2] = [&mut [], &mut []];
        let writers = SectionId::ALL.map(|id| {
            let section = plan.sections[id as usize];
            let (start, len) = (section.offset as usize, section.len as usize);
            let (_, from) = core::mem::take(&mut rest).split_at_mut(start - at);
            let (own, behind) = from.split_at_mut(len);
            (rest, at) = (behind, start + len);
            Buffer::from(match id {
                SectionId::Hot => core::mem::replace(&mut code[0], own),
                SectionId::Cold => core::mem::replace(&mut code[1], own),
                _ => own,
            })
        });
        Self { writers, code }
    }

    /// Appends `record` to `section`.
    pub(super) fn put(&mut self, section: SectionId, record: &impl Record) {
        record.put(&mut self.writers[section as usize]);
    }

    /// Appends `bytes` to `section`.
    pub(super) fn bytes(&mut self, section: SectionId, bytes: &[u8]) {
        let written = Writer::<Failure>::write(&mut self.writers[section as usize], bytes);
        debug_assert!(
            written.is_ok(),
            "a section is as long as what belongs to it"
        );
    }

    /// Whether each section is as `plan` says.
    pub(super) fn are_full(&self, plan: &Plan) -> bool {
        let is_full = |id: &SectionId| match id {
            SectionId::Hot | SectionId::Cold => true,
            _ => self.writers[*id as usize].len() == plan.sections[*id as usize].len as usize,
        };
        SectionId::ALL.iter().all(is_full)
    }
}
