//! The writer: goes through the fragments once.

mod code;
mod records;
mod sections;

use crate::apart;
use crate::checksum;
use crate::layout::{CHECKSUM_AT, FORMAT_VERSION, MAGIC, SectionId};
use crate::plan::Plan;
use crate::record::{ENTRANCES, EXPLORED, HAS_ABSOLUTE, HeaderRec, Record};
use crate::spec::{FreezeError, Piece, UnitSpec};
use alloc::vec::Vec;
use code::Coder;
use ppin_abi::area::LAYOUT_VERSION;
use ppin_relocator::RelocKind;
use records::Tables;
use sections::Sections;

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
    let mut out = sections::blank(&plan);
    let absolute = fragments(&spec, &plan, &mut Sections::of(&plan, &mut out))?;
    let head = Head {
        spec: &spec,
        plan,
        absolute,
    };
    head.write(&mut out);
    Ok(out)
}

/// All fragments, with what belongs to them; whether any has absolute addresses.
fn fragments(
    spec: &UnitSpec<'_>,
    plan: &Plan,
    out: &mut Sections<'_>,
) -> Result<bool, FreezeError> {
    let mut tables = Tables::new(plan);
    let mut coder = Coder::new(spec, plan);
    let mut absolute = false;
    tables.begin(out);
    for (number, piece) in spec.fragments.iter().enumerate() {
        let malformed = FreezeError::Malformed { fragment: number };
        tables.fragment(number, piece, out).ok_or(malformed)?;
        let [hot, cold] = &mut out.code;
        coder.fragment(number, hot, cold)?;
        absolute = absolute || has_absolute(piece);
    }
    tables.end(out);
    coder.spares(out.code[1])?;
    debug_assert!(out.are_full(plan));
    Ok(absolute)
}

/// The head, which comes last: it holds the checksums of all the rest.
struct Head<'a> {
    spec: &'a UnitSpec<'a>,
    plan: Plan,
    /// Some code holds absolute addresses.
    absolute: bool,
}

impl Head<'_> {
    fn write(mut self, out: &mut [u8]) {
        self.finish_groups(out);
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
        out[..head.len()].copy_from_slice(&head);
    }

    fn finish_groups(&mut self, out: &[u8]) {
        let index = self.plan.sections[SectionId::Index as usize];
        for (number, group) in self.plan.groups.iter_mut().enumerate() {
            let start = group.offset as usize;
            group.checksum = checksum::group(&out[start..start + group.len as usize]);
            let in_index = (number as u32).checked_sub(index.first_group);
            if in_index.is_some_and(|number| number < index.groups) {
                let entry = (group.offset - index.offset) as usize / SectionId::Index.record_len();
                let key = self.plan.index[entry].key;
                group.first = key.head() as u32;
                group.end = key.context();
            }
        }
    }

    fn header(&self) -> HeaderRec {
        let absolute = self.absolute;
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
            flags: flag(absolute, HAS_ABSOLUTE)
                | flag(self.spec.explored, EXPLORED)
                | flag(self.spec.entrances, ENTRANCES),
            sections: self.plan.sections,
            spares: self.plan.spares.record(),
        }
    }
}

/// `bit`, if that is so.
const fn flag(is_so: bool, bit: u16) -> u16 {
    if is_so { bit } else { 0 }
}

fn has_absolute(piece: &Piece<'_>) -> bool {
    let absolute = |kind| matches!(kind, RelocKind::AppAbs32(_));
    piece
        .fragment
        .relocs
        .iter()
        .any(|reloc| absolute(reloc.kind))
}
