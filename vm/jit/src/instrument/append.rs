//! Where records of a block are appended.
//!
//! Each record is stored before its instruction, with the values that registers have there; which
//! of them together, [`super::station`] says. The buffer's position moves once, with the last record of the block: behind it lie the others, as
//! count rows tell the VM, so that a block left in the middle has the records of the instructions
//! that were reached. Whether there is room is looked at before the first, where no flag is alive
//! if there is such a place between the beginning of the block and it; not in each block, but once for
//! all that a trace may append without a call in between, since callees append, too.

use super::station;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::{AppPc, ImageBase};
use ppin_abi::buffers::MOST_AT_ONCE;
use ppin_api::compiler::AppendInsertion;
use ppin_decode::Ins;
use ppin_decode::touched::Touched;
use ppin_liveness::registers;

/// Records that are appended at once.
pub(super) struct Batch {
    pub buffer: u16,
    /// Before which instruction it is seen whether there is room, if it is.
    pub check: u32,
    /// Whether it is; else a batch before has seen to that.
    pub looks: bool,
    /// Whether no arithmetic flag is alive there.
    pub flags_dead: bool,
    /// Its records, in order; among [`Records::all`].
    pub records: Range<usize>,
}

/// All records of a trace that are stored in line.
#[derive(Default)]
pub(super) struct Records {
    /// By buffer, then by place.
    pub all: Vec<AppendInsertion>,
    pub batches: Vec<Batch>,
    /// For each record, before which instruction it is stored.
    pub stations: Vec<u32>,
    /// Registers that each instruction of the trace touches.
    pub touched: Vec<Touched>,
    /// Where each instruction begins, in bytes from the head.
    pub offsets: Vec<u32>,
    /// The trace, relative to its image.
    pub near: Range<i32>,
}

impl Records {
    /// `all`, put into batches. `live`: the flags alive before each instruction.
    pub(super) fn new(
        mut all: Vec<AppendInsertion>,
        ins: &[Ins],
        live: &[u32],
        image: ImageBase,
    ) -> Self {
        all.sort_by_key(|record| (record.buffer, record.ins));
        let mut batches = Vec::new();
        let mut seen = Room::default();
        let mut first = 0;
        while first < all.len() {
            let block = block_of(all[first].ins, ins);
            let len = all[first..]
                .iter()
                .scan(0, |bytes, record| {
                    *bytes += record.size;
                    Some((record, *bytes))
                })
                .take_while(|(record, bytes)| {
                    let same = record.buffer == all[first].buffer;
                    same && block.contains(&record.ins) && *bytes <= MOST_AT_ONCE
                })
                .count();
            let end = first + len.max(1);
            let (check, flags_dead) = place(block.start..all[first].ins + 1, live);
            // What was appended before in the same block comes before the look, too.
            let follows = batches.last().is_some_and(|before: &Batch| {
                let before = &all[before.records.end - 1];
                before.buffer == all[first].buffer && before.ins >= check
            });
            let at = all[first].ins;
            let bytes = all[first..end].iter().map(|record| record.size).sum();
            let buffer = all[first].buffer.0;
            let looks = !seen.is_enough(buffer, bytes, block.start, ins);
            batches.push(Batch {
                buffer,
                check: if follows || !looks { at } else { check },
                looks,
                flags_dead: if follows {
                    live[at as usize] == 0
                } else {
                    flags_dead
                },
                records: first..end,
            });
            first = end;
        }
        let touched = registers::touched(ins);
        let stations = station::choose(&mut all, &batches, ins, &touched);
        let near = |pc: Option<AppPc>| pc.and_then(|pc| pc.offset_from(image)).map(|off| off.0);
        let (start, end) = (ins.first().map(Ins::pc), ins.last().map(Ins::next));
        Self {
            all,
            batches,
            stations,
            touched,
            offsets: ins.iter().map(|ins| ins.offset).collect(),
            near: near(start).unwrap_or(0)..near(end).map_or(0, |end| end + 1),
        }
    }

    /// Batches with something to do before instruction `ins`.
    pub(super) fn at(&self, ins: u32) -> impl Iterator<Item = &Batch> {
        let batches = self.batches.iter();
        batches.filter(move |batch| (batch.check..=self.last(batch)).contains(&ins))
    }

    /// Whether records of `ins` or of later instructions are stored before it.
    pub(super) fn is_ahead(&self, ins: u32) -> bool {
        let mut records = self.all.iter().zip(&self.stations);
        records.any(|(record, station)| *station < ins && ins <= record.ins)
    }

    /// Whether there is nothing to do from instruction `ins` on.
    pub(super) fn end_before(&self, ins: u32) -> bool {
        self.batches.iter().all(|batch| self.last(batch) < ins)
    }

    fn last(&self, batch: &Batch) -> u32 {
        self.all[batch.records.end - 1].ins
    }
}

/// The room that has been seen to be there.
#[derive(Default)]
struct Room {
    buffer: u16,
    /// Bytes that may be appended yet.
    left: u32,
    /// Up to which instruction there is no call.
    passed: u32,
}

impl Room {
    /// Whether `bytes` may be appended to `buffer` in the block that begins with instruction `start` without
    /// another look. If not, there will be one.
    fn is_enough(&mut self, buffer: u16, bytes: u32, start: u32, ins: &[Ins]) -> bool {
        let passed = ins.get(self.passed as usize..start as usize);
        let calls = passed.is_none_or(|passed| passed.iter().any(|ins| ins.kind.is_call()));
        let enough = self.buffer == buffer && self.left >= bytes && !calls;
        *self = Self {
            buffer,
            left: if enough { self.left } else { MOST_AT_ONCE }.saturating_sub(bytes),
            passed: start,
        };
        enough
    }
}

/// The block of instruction `at`, without what comes behind it.
fn block_of(at: u32, ins: &[Ins]) -> Range<u32> {
    let at = at as usize;
    let ends = |ins: &Ins| ins.kind.ends_block();
    let start = ins[..at].iter().rposition(ends).map_or(0, |end| end + 1);
    let end = ins[at..].iter().position(ends);
    start as u32..end.map_or(ins.len(), |len| at + len + 1) as u32
}

/// The last of `places` without living flags, or the last of all; whether no flag is alive there.
fn place(mut places: Range<u32>, live: &[u32]) -> (u32, bool) {
    let last = places.end - 1;
    let found = places.rfind(|ins| live[*ins as usize] == 0);
    (found.unwrap_or(last), found.is_some())
}
