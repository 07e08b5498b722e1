//! First pass of the writer: where everything will lie.

use crate::entry::{EntryKey, Indexed};
use crate::layout::{GROUP, GROUP_REC_LEN, HEADER_LEN, MAX_FILE, PAGE, SectionId};
use crate::layout::{MAX_TEXT, SECTIONS};
use crate::linked::Spares;
use crate::linker::Linker;
use crate::record::{GroupRec, SectionRec};
use crate::spec::{FreezeError, Piece, UnitSpec};
use crate::spills::SpillTable;
use alloc::vec::Vec;
use hashbrown::HashMap;
use ppin_abi::record::stub;
use ppin_relocator::{FragmentRef, Start};

/// The layout of a unit.
pub(crate) struct Plan {
    /// Offset of each fragment in the hot and in the cold section.
    pub places: Vec<(u32, u32)>,
    /// Entry points, sorted.
    pub index: Vec<Indexed>,
    /// Offset in the hot section of what each exit leads to, of all fragments in order, if that is in the unit.
    pub links: Vec<Option<u32>>,
    /// Of each fragment, how many of its exits lead to stubs.
    pub stubs: Vec<u32>,
    /// Stubs that belong to no exit.
    pub spares: Spares,
    pub sections: [SectionRec; SECTIONS],
    /// The group table, checksums and first index entries still missing.
    pub groups: Vec<GroupRec>,
    pub head_len: u32,
    pub file_len: u32,
    pub spills: SpillTable,
}

/// A stretch of a section that is checked as one: offset and length in the section,
/// and its fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    offset: u64,
    len: u64,
    first: u32,
    end: u32,
}

impl Plan {
    pub(crate) fn new(spec: &UnitSpec<'_>) -> Result<Self, FreezeError> {
        let pieces = spec.fragments;
        if spec.image_path.len() > MAX_TEXT || spec.label.len() > MAX_TEXT {
            return Err(FreezeError::Text);
        }
        let spills = spill_sets(pieces);
        let sizes = Sizes::measure(pieces, &spills)?;
        let index = sorted_index(pieces)?;
        let hot = pack_hot(pieces);
        let links = links(spec, &index, &hot.at);
        let stubs = stubs(pieces, &links);
        let mut cold = pack_cold(pieces, &stubs);
        let slots = slot_spans(&hot.spans, |n| pieces[n].fragment.slots.len());
        let mut exit_slots = slot_spans(&hot.spans, |n| stubs[n] as usize);
        let spares = add_spares(&links, &stubs, &mut cold, &mut exit_slots);
        let spans = SectionId::ALL.map(|section| match section {
            SectionId::Hot => hot.spans.clone(),
            SectionId::Cold => cold.spans.clone(),
            SectionId::Slots => slots.clone(),
            SectionId::ExitSlots => exit_slots.clone(),
            _ => even_spans(sizes.of(section)),
        });
        let layout = lay_out(spec, &spans)?;
        Ok(Self {
            places: hot.at.into_iter().zip(cold.at).collect(),
            index,
            links,
            stubs,
            spares,
            sections: layout.sections,
            groups: layout.groups,
            head_len: layout.head_len,
            file_len: layout.file_len,
            spills,
        })
    }
}

/// Where sections and groups lie, and how long the head and the file are.
struct Layout {
    sections: [SectionRec; SECTIONS],
    groups: Vec<GroupRec>,
    head_len: u32,
    file_len: u32,
}

/// Lays the sections one behind the other, after the head.
fn lay_out(spec: &UnitSpec<'_>, spans: &[Vec<Span>; SECTIONS]) -> Result<Layout, FreezeError> {
    let group_count: usize = spans.iter().map(Vec::len).sum();
    let text_len = spec.image_path.len() + spec.label.len();
    let head_len = HEADER_LEN + group_count * GROUP_REC_LEN + text_len;
    let mut at = head_len as u64;
    let mut sections = [SectionRec::default(); SECTIONS];
    let mut groups = Vec::with_capacity(group_count);
    for section in SectionId::ALL {
        let spans = &spans[section as usize];
        at = at.next_multiple_of(section.alignment() as u64);
        let len = spans.last().map_or(0, |last| last.offset + last.len);
        if section == SectionId::ExitSlots && at % PAGE as u64 + len > PAGE as u64 {
            // They are not written to when code is admitted, so they share no page with what is.
            at = at.next_multiple_of(PAGE as u64);
        }
        sections[section as usize] = SectionRec {
            offset: small(at)?,
            len: small(len)?,
            first_group: groups.len() as u32,
            groups: spans.len() as u32,
        };
        small(at + len)?;
        groups.extend(spans.iter().map(|span| group_rec(at, span)));
        at += len;
    }
    Ok(Layout {
        sections,
        groups,
        head_len: small(head_len as u64)?,
        file_len: small(at)?,
    })
}

/// Where each exit leads, of all fragments in order.
fn links(spec: &UnitSpec<'_>, index: &[Indexed], hot_at: &[u32]) -> Vec<Option<u32>> {
    let linker = Linker {
        spec,
        index,
        entries: &entries(spec.fragments, hot_at),
        hot_at,
    };
    let exits = spec.fragments.iter().flat_map(|it| it.fragment.exits);
    exits.map(|exit| linker.target(exit)).collect()
}

/// How many exits of each fragment `links` leaves without a target.
fn stubs(pieces: &[Piece<'_>], links: &[Option<u32>]) -> Vec<u32> {
    let mut links = links.iter();
    let counts = pieces.iter().map(|piece| {
        let own = links.by_ref().take(piece.fragment.exits.len());
        own.filter(|link| link.is_none()).count() as u32
    });
    counts.collect()
}

/// Adds spare stubs behind the last cold code, and their slots behind the last of exits.
fn add_spares(
    links: &[Option<u32>],
    stubs: &[u32],
    cold: &mut Packed,
    exit_slots: &mut [Span],
) -> Spares {
    let used = cold.end;
    let (Some(cold), Some(slots)) = (cold.spans.last_mut(), exit_slots.last_mut()) else {
        return Spares::default();
    };
    let linked = links.iter().flatten().count();
    let spares = Spares::plan(used, linked, stubs.iter().sum());
    let end = u64::from(spares.cold + spares.len());
    cold.len = (end - cold.offset).max(1).next_multiple_of(PAGE as u64);
    slots.len += 8 * u64::from(spares.count);
    spares
}

/// Where each fragment is entered.
fn entries(pieces: &[Piece<'_>], hot_at: &[u32]) -> HashMap<EntryKey, u32> {
    let fragments = pieces.iter().map(|piece| &piece.fragment);
    let entry = |(at, fragment): (&u32, &FragmentRef<'_>)| {
        let key = EntryKey::new(fragment.head.0, fragment.context.0);
        (key, at + u32::from(fragment.entry))
    };
    hot_at.iter().zip(fragments).map(entry).collect()
}

fn group_rec(section_at: u64, span: &Span) -> GroupRec {
    GroupRec {
        // Checked by the caller: the section's end fits.
        offset: (section_at + span.offset) as u32,
        len: span.len as u32,
        checksum: 0,
        first: span.first,
        end: span.end,
    }
}

fn small(value: u64) -> Result<u32, FreezeError> {
    if value > MAX_FILE {
        return Err(FreezeError::TooLarge);
    }
    Ok(value as u32)
}

/// Total numbers of records.
#[derive(Default)]
struct Sizes {
    fragments: u64,
    /// Instrumentation has added something to some of them.
    extras: bool,
    relocs: u64,
    exits: u64,
    pc_bytes: u64,
    counts: u64,
    spills: u64,
    tool: u64,
}

impl Sizes {
    fn measure(pieces: &[Piece<'_>], spills: &SpillTable) -> Result<Self, FreezeError> {
        if pieces.is_empty() {
            return Err(FreezeError::Empty);
        }
        let mut sizes = Self {
            spills: spills.sets.len() as u64,
            ..Self::default()
        };
        for (number, piece) in pieces.iter().enumerate() {
            let fragment = &piece.fragment;
            if fragment.hot.len() <= usize::from(fragment.entry)
                || fragment.slots.len() > usize::from(u16::MAX) + 1
            {
                return Err(FreezeError::Malformed { fragment: number });
            }
            sizes.fragments += 1;
            sizes.relocs += fragment.relocs.len() as u64;
            sizes.exits += fragment.exits.len() as u64;
            sizes.pc_bytes += fragment.pc_map.bytes().len() as u64;
            sizes.counts += fragment.counts.len() as u64;
            sizes.tool += piece.tool.len() as u64;
            sizes.extras |= fragment.beyond > 0;
        }
        sizes.extras |= sizes.counts + sizes.tool > 0;
        Ok(sizes)
    }

    /// Bytes of a table section.
    fn of(&self, section: SectionId) -> u64 {
        let records = match section {
            SectionId::Index | SectionId::Sources => self.fragments,
            SectionId::Fragments => self.fragments + 1,
            SectionId::Extras if !self.extras => 0,
            SectionId::Extras => self.fragments + 1,
            SectionId::Relocs => self.relocs,
            SectionId::Exits => self.exits,
            SectionId::PcRows => self.pc_bytes,
            SectionId::Counts => self.counts,
            SectionId::Spills => self.spills,
            SectionId::Tool => self.tool,
            SectionId::Hot | SectionId::Cold | SectionId::Slots | SectionId::ExitSlots => 0,
        };
        records * section.record_len() as u64
    }
}

/// The sets of spilled registers that the pc maps name.
fn spill_sets(pieces: &[Piece<'_>]) -> SpillTable {
    let mut table = SpillTable::default();
    for piece in pieces {
        table.add(piece.fragment.pc_map.sets());
    }
    table
}

fn sorted_index(pieces: &[Piece<'_>]) -> Result<Vec<Indexed>, FreezeError> {
    let mut index: Vec<_> = (0..).zip(pieces).map(Indexed::new).collect();
    index.sort_unstable();
    let twice = index.windows(2).find(|pair| pair[0].key == pair[1].key);
    match twice {
        Some(pair) => Err(FreezeError::Twice {
            fragment: pair[1].fragment as usize,
        }),
        None => Ok(index),
    }
}

/// Equal groups for tables.
fn even_spans(len: u64) -> Vec<Span> {
    (0..len)
        .step_by(GROUP)
        .map(|offset| Span {
            offset,
            len: (len - offset).min(GROUP as u64),
            first: 0,
            end: 0,
        })
        .collect()
}

/// Code that has its places in a section.
struct Packed {
    /// Offset of each fragment's.
    at: Vec<u32>,
    spans: Vec<Span>,
    /// Behind the last of it.
    end: u64,
}

/// Gives the hot code of all fragments its places.
fn pack_hot(pieces: &[Piece<'_>]) -> Packed {
    let mut arrivals = 0;
    pack(pieces.iter().map(|Piece { fragment, .. }| {
        let start = fragment.start(arrivals);
        arrivals += usize::from(fragment.entry > 0);
        (fragment.hot.len(), start)
    }))
}

/// The same of their cold code, behind so many `stubs` of each.
fn pack_cold(pieces: &[Piece<'_>], stubs: &[u32]) -> Packed {
    let all = pieces.iter().zip(stubs);
    pack(all.map(|(piece, stubs)| {
        let room = stub::room(*stubs as usize);
        (room as usize + piece.fragment.cold.len(), Start::COLD)
    }))
}

/// Packs code of these lengths, each where it may begin, into groups so that none crosses a group's
/// end. A group has `GROUP` bytes, or as many pages as its first fragment needs; the last
/// ends with its last page in use. Offsets beyond 32 bits are cut: the caller finds
/// the section too large.
fn pack(all: impl Iterator<Item = (usize, Start)>) -> Packed {
    let mut offsets = Vec::with_capacity(all.size_hint().0);
    let mut spans: Vec<Span> = Vec::new();
    let mut fill = 0u64;
    for (number, (len, start)) in all.enumerate() {
        let len = len as u64;
        let mut at = start.from(fill);
        let fits = spans
            .last()
            .is_some_and(|span| at + len <= span.offset + span.len);
        if !fits {
            let offset = spans.last().map_or(0, |span| span.offset + span.len);
            at = start.from(offset);
            spans.push(Span {
                offset,
                len: (at + len - offset)
                    .next_multiple_of(PAGE as u64)
                    .max(GROUP as u64),
                first: number as u32,
                end: number as u32,
            });
        }
        if let Some(span) = spans.last_mut() {
            span.end += 1;
        }
        offsets.push(at as u32);
        fill = at + len;
    }
    if let Some(last) = spans.last_mut() {
        let used = (fill - last.offset).max(1);
        last.len = used.next_multiple_of(PAGE as u64);
    }
    Packed {
        at: offsets,
        spans,
        end: fill,
    }
}

/// One group of slots for each group of hot code: as many as its fragments have; `count` says it by number.
fn slot_spans(hot: &[Span], count: impl Fn(usize) -> usize) -> Vec<Span> {
    let mut offset = 0;
    hot.iter()
        .map(|group| {
            let slots: usize = (group.first..group.end).map(|n| count(n as usize)).sum();
            let span = Span {
                offset,
                len: 8 * slots as u64,
                ..*group
            };
            offset += span.len;
            span
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_fragment_crosses_a_group() {
        let lens = [10_000, 6_384, 1, 20_000, 5, 0, 16_384];
        let Packed {
            at: offsets, spans, ..
        } = pack(lens.iter().map(|len| (*len, Start::COLD)));
        let mut end = 0;
        for span in &spans {
            assert_eq!(span.offset, end);
            assert_eq!(span.len % PAGE as u64, 0);
            end += span.len;
            for number in span.first..span.end {
                let at = u64::from(offsets[number as usize]);
                assert_eq!(at % 4, 0);
                assert!(at >= span.offset && at + lens[number as usize] as u64 <= end);
            }
        }
        assert_eq!(
            spans.iter().map(|span| span.end - span.first).sum::<u32>(),
            7
        );
        assert_eq!(spans.last().unwrap().len, GROUP as u64);
    }
}
