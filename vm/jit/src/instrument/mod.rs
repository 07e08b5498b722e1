//! What a tool inserted, as operations.
//!
//! Counts of one block are merged into as few additions as there are counters, put
//! where they cost least: where no flag is alive if there is such a place in the
//! block. Count rows tell the VM which instruction each part of an addition pays
//! for, so that a block left in the middle is corrected.

mod append;
mod argument;
mod colour;
mod count;
mod fields;
mod merge;
mod operand;
mod source;
mod station;

use crate::analyse::flags::live_flags;
use crate::decode::Ins;
use crate::form::{Form, InsId, Op, RegSet};
use crate::lower::bridge;
use crate::request::Request;
use alloc::vec::Vec;
use append::Records;
use colour::Colours;
use core::ops::Range;
use merge::Group;
use ppin_abi::addr::ImageBase;
use ppin_abi::context::Context;
use ppin_abi::counters::{Cells, GLOBAL_COUNTERS};
use ppin_abi::optimize::Optimize;
use ppin_abi::record::BUFFER_APPEND;
use ppin_api::compiler::{AppendInsertion, CallInsertion, Insertions, Limits};
use ppin_api::{Tool, Trace};
use source::Decoded;

pub(crate) use argument::call_arg;
pub(crate) use operand::address;

/// Lets `tool` look at a trace that consists of `ins`; what it inserts.
fn ask(tool: &dyn Tool, ins: &[Ins], image: ImageBase, context: Context) -> Insertions {
    let source = Decoded::new(ins, image);
    let limits = Limits {
        global_counters: tool.global_counters().min(GLOBAL_COUNTERS),
        image_counters: tool.image_counters(),
        routines: tool.routines().len(),
        buffers: tool.buffers(),
    };
    let continues = context.contains(Context::CONTINUATION);
    let trace = Trace::new(&source, image, continues, limits);
    tool.instrument(&trace);
    trace.into_insertions()
}

/// What is inserted around each instruction, to be asked for in their order.
pub(crate) struct Plan {
    /// In order of their place.
    groups: Vec<Group>,
    /// In order of their place, then of insertion.
    calls: Vec<CallInsertion>,
    cells: Cells,
    /// Those that have had their turn.
    groups_done: usize,
    calls_done: usize,
    /// Records that are stored in line.
    records: Records,
    /// Records that are appended by a call, in order of their place, then of insertion.
    appends: Vec<AppendInsertion>,
}

impl Plan {
    /// A plan for what `tool` inserts into the instructions `ins` of a trace that is entered in
    /// `context`. In restartable sequences, whose `stretches` are not given, nothing is stored in
    /// line: the kernel may interrupt them anywhere.
    pub(crate) fn new(
        request: &Request<'_>,
        context: Context,
        tool: &dyn Tool,
        ins: &[Ins],
        stretches: Option<&[Range<usize>]>,
    ) -> Self {
        let mut inserted = ask(tool, ins, request.image, context);
        let cells = Cells::new(tool.global_counters(), request.optimize);
        let mut plan = Self {
            groups: Vec::new(),
            calls: inserted.calls,
            cells,
            groups_done: 0,
            calls_done: 0,
            records: Records::default(),
            appends: Vec::new(),
        };
        let live = || live_flags(ins, stretches.unwrap_or_default(), request.optimize);
        if !inserted.appends.is_empty() {
            let in_line = stretches.is_some() && request.optimize.has(Optimize::BUFFERS);
            let told = inserted
                .appends
                .extract_if(.., |record| !in_line || !fields::fits(record));
            plan.appends = told.collect();
            plan.appends
                .sort_by_key(|record| (record.ins, record.after));
            plan.records = Records::new(inserted.appends, ins, &live(), request.image);
        }
        if !plan.calls.is_empty() {
            plan.calls.sort_by_key(|call| (call.ins, call.after));
        }
        if !inserted.counts.is_empty() {
            let colours = Colours::new(cells, request.image);
            plan.groups = merge::groups(&inserted.counts, ins, &live(), colours);
            plan.groups.sort_by_key(|group| (group.ins, group.after));
        }
        plan
    }

    /// Whether records of `ins` or of later instructions are stored before it.
    #[inline]
    pub(crate) fn is_ahead(&self, ins: InsId) -> bool {
        self.records.is_ahead(u32::from(ins.0))
    }

    /// What comes between the beginning of instruction `ins` and itself.
    #[inline]
    pub(crate) fn before(&mut self, form: &mut Form, ins: InsId) {
        if self.is_done(ins) {
            return;
        }
        let (start, temps) = (form.ops.len(), form.needs.len());
        let called = self.insert(form, ins, false);
        if form.ops.len() != start {
            let mut needs = (temps..form.needs.len()).map(|number| form.needs.at(number as u16));
            let repeatable = !called && needs.all(|need| need.free == RegSet::NONE);
            form.push(Op::Itself { repeatable });
        }
    }

    /// What comes behind instruction `ins`, before the next one begins.
    #[inline]
    pub(crate) fn after(&mut self, form: &mut Form, ins: InsId) {
        if !self.is_done(ins) {
            self.insert(form, ins, true);
        }
    }

    /// Whether nothing is inserted from `ins` on.
    fn is_done(&self, ins: InsId) -> bool {
        let ins = u32::from(ins.0);
        self.groups_done == self.groups.len()
            && self.calls_done == self.calls.len()
            && self.records.end_before(ins)
            && self.appends.last().is_none_or(|last| last.ins < ins)
    }

    /// What comes before or behind `ins`; whether a routine is called there.
    fn insert(&mut self, form: &mut Form, ins: InsId, after: bool) -> bool {
        let place = (u32::from(ins.0), after);
        let called = |plan: &Self| {
            let call = plan.calls.get(plan.calls_done);
            call.is_some_and(|call| (call.ins, call.after) == place)
        };
        if !after {
            for batch in self.records.at(place.0) {
                fields::lower(form, &self.records, batch, ins);
            }
        }
        let told = self.append(form, ins, after);
        // A routine may look at any register.
        let free = !called(self);
        while let Some(group) = self.groups.get(self.groups_done)
            && (group.ins, group.after) == place
        {
            count::lower(form, group, self.cells, free);
            self.groups_done += 1;
        }
        while called(self) {
            let call = &self.calls[self.calls_done];
            let args = call.args.iter().map(|value| call_arg(*value));
            bridge::lower(form, ins, call.routine.0, args);
            self.calls_done += 1;
        }
        !free || told
    }

    /// Records that are appended by a call; whether there are any.
    fn append(&self, form: &mut Form, ins: InsId, after: bool) -> bool {
        let place = (u32::from(ins.0), after);
        let here = |record: &&AppendInsertion| (record.ins, record.after) == place;
        let mut any = false;
        for record in self.appends.iter().filter(here) {
            let args = record.fields.iter().map(|(_, value)| call_arg(*value));
            bridge::lower(form, ins, BUFFER_APPEND + record.buffer.0, args);
            any = true;
        }
        any
    }
}
