//! What a tool inserted, as code.
//!
//! Counts of one block are merged into as few additions as there are counters, put
//! where they cost least: where no flag is alive if there is such a place in the
//! block. Count rows tell the VM which instruction each part of an addition pays
//! for, so that a block left in the middle is corrected.

mod argument;
mod call;
mod count;
mod merge;
mod operand;
mod source;

use crate::decode::Ins;
use crate::emit::Emitter;
use alloc::vec::Vec;
use core::ops::Range;
use merge::Group;
use ppin_abi::addr::ImageBase;
use ppin_abi::context::Context;
use ppin_api::compiler::{CallInsertion, Insertions, Limits};
use ppin_api::{Tool, Trace};
use ppin_relocator::pc_flag;
use source::Decoded;

pub(crate) use argument::call_arg;
pub(crate) use operand::address;

/// Lets `tool` look at a trace that consists of `ins`; what it inserts.
pub(crate) fn ask(tool: &dyn Tool, ins: &[Ins], image: ImageBase, context: Context) -> Insertions {
    let source = Decoded::new(ins, image);
    let limits = Limits {
        image_counters: tool.image_counters(),
        routines: tool.routines().len(),
    };
    let continues = context.contains(Context::CONTINUATION);
    let trace = Trace::new(&source, image, continues, limits);
    tool.instrument(&trace);
    trace.into_insertions()
}

/// What is emitted around each instruction.
#[derive(Default)]
pub(crate) struct Plan {
    /// In order of their place.
    groups: Vec<Group>,
    /// In order of their place, then of insertion.
    calls: Vec<CallInsertion>,
}

impl Plan {
    pub(crate) fn new(inserted: Insertions, ins: &[Ins], stretches: &[Range<usize>]) -> Self {
        if inserted.is_empty() {
            return Self::default();
        }
        let mut calls = inserted.calls;
        calls.sort_by_key(|call| (call.ins, call.after));
        let mut groups = merge::groups(&inserted.counts, ins, stretches);
        groups.sort_by_key(|group| (group.ins, group.after));
        Self { groups, calls }
    }

    /// Emits what comes between the boundary of instruction `index` and itself.
    pub(crate) fn emit_before(&self, emitter: &mut Emitter, index: usize, ins: &Ins) {
        let (start, place) = (emitter.hot.here(), (index as u32, false));
        self.emit_at(emitter, place, ins);
        if emitter.hot.here() != start {
            let called = self
                .calls
                .iter()
                .any(|call| (call.ins, call.after) == place);
            let repeatable = if called { 0 } else { pc_flag::REPEATABLE };
            emitter.row(ins.offset, 0, pc_flag::INSTRUCTION | repeatable);
        }
    }

    /// Emits what comes behind instruction `index`, before the next boundary.
    pub(crate) fn emit_after(&self, emitter: &mut Emitter, index: usize, ins: &Ins) {
        self.emit_at(emitter, (index as u32, true), ins);
    }

    fn emit_at(&self, emitter: &mut Emitter, place: (u32, bool), ins: &Ins) {
        let first = self
            .groups
            .partition_point(|group| (group.ins, group.after) < place);
        for group in &self.groups[first..] {
            if (group.ins, group.after) != place {
                break;
            }
            count::emit(emitter, group, ins);
        }
        let first = self
            .calls
            .partition_point(|call| (call.ins, call.after) < place);
        for call in &self.calls[first..] {
            if (call.ins, call.after) != place {
                break;
            }
            call::emit(emitter, call, ins);
        }
    }
}
