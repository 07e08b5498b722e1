//! An object in memory.

use crate::dynamic::relocations;
use crate::object::{Object, PAGE, Rights};
use core::ops::Range;

/// Rights for pages of the object, to be set when it is laid out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Protection {
    /// From the object's base.
    pub pages: Range<u64>,
    /// What may be done with them; pages between segments are only readable.
    pub rights: Rights,
}

impl Object<'_> {
    /// Writes the object into `memory`, which is zero, has room for [`Object::span`] bytes, and
    /// will be found at address `base`.
    ///
    /// # Panics
    /// `memory` is too short.
    pub fn lay_out(&self, memory: &mut [u8], base: u64) {
        for segment in &self.segments {
            let (from, at) = (segment.offset as usize, segment.at as usize);
            let len = segment.len as usize;
            memory[at..at + len].copy_from_slice(&self.bytes[from..from + len]);
        }
        self.relocate(memory, base);
    }

    /// Whether each byte of the object lies as far from its base as in its file: then the file can be
    /// mapped instead of copied ([`Object::complete`]).
    #[must_use]
    pub fn lies_as_in_file(&self) -> bool {
        self.segments
            .iter()
            .all(|segment| segment.at == segment.offset)
    }

    /// Bytes of whole pages that hold what comes from the file, if it lies there as in memory.
    #[must_use]
    pub fn pages_in_file(&self) -> u64 {
        let ends = self.segments.iter().map(|segment| segment.at + segment.len);
        ends.max().unwrap_or(0).next_multiple_of(PAGE)
    }

    /// As [`Object::lay_out`], where `memory` begins with the pages of the file, and is zero behind
    /// them.
    ///
    /// # Panics
    /// `memory` is too short.
    pub fn complete(&self, memory: &mut [u8], base: u64) {
        for segment in &self.segments {
            let end = segment.at + segment.len;
            let zeros = end..end.next_multiple_of(PAGE).min(segment.at + segment.memory);
            memory[zeros.start as usize..zeros.end as usize].fill(0);
        }
        self.relocate(memory, base);
    }

    fn relocate(&self, memory: &mut [u8], base: u64) {
        for relocation in relocations(self.relocations) {
            let place = relocation.place as usize;
            let value = base.wrapping_add(relocation.addend);
            memory[place..place + 8].copy_from_slice(&value.to_le_bytes());
        }
    }

    /// The rights of the object's pages, all of them, in order.
    pub fn protections(&self) -> impl Iterator<Item = Protection> {
        let mut end = 0;
        let pieces = self.segments.iter().flat_map(move |segment| {
            let pages = segment.pages();
            let gap = end..pages.start;
            end = pages.end;
            [(gap, Rights::Read), (pages, segment.rights)]
        });
        let pieces = pieces.filter(|(pages, _)| !pages.is_empty());
        pieces.map(|(pages, rights)| Protection { pages, rights })
    }
}
