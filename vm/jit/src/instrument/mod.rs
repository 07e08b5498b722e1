//! What a tool inserted, as operations.
//!
//! Counts of one block are merged into as few additions as there are counters, put
//! where they cost least: where no flag is alive if there is such a place in the
//! block. Count rows tell the VM which instruction each part of an addition pays
//! for, so that a block left in the middle is corrected.

mod append;
mod bodies;
mod calls;
mod colour;
mod count;
mod fields;
mod join;
mod jumps;
mod merge;
mod source;
mod station;
mod taken;

use crate::request::Request;
use crate::trace::visible_bytes;
use alloc::vec::Vec;
use append::Records;
pub use bodies::Bodies;
use calls::Calls;
pub use calls::{Fate, Part};
use colour::Colours;
use core::ops::Range;
use join::Joining;
use jumps::Jumps;
use merge::Group;
use ppin_abi::addr::ImageBase;
use ppin_abi::context::Context;
use ppin_abi::counters::Cells;
use ppin_abi::optimize::Optimize;
use ppin_abi::record::BUFFER_APPEND;
use ppin_api::compiler::{AppendInsertion, CountInsertion, Insertions, Limits};
use ppin_api::{Tool, Trace};
use ppin_decode::Ins;
use ppin_form::{Form, InsId, Op, RegSet};
use ppin_liveness::beyond::Beyond;
use ppin_liveness::flags::live_where;
use ppin_lower::{Site, bridge, call_arg};
use source::Decoded;
use taken::Taken;

/// Lets `tool` look at a trace that consists of `ins`; what it inserts.
fn ask(tool: &dyn Tool, ins: &[Ins], image: ImageBase, context: Context) -> Insertions {
    let source = Decoded::new(ins, image);
    let limits = Limits::of(tool);
    let continues = context.contains(Context::CONTINUATION);
    let trace = Trace::new(&source, image, continues, limits);
    tool.instrument(&trace);
    trace.into_insertions()
}

/// Whether blocks are joined in code that is made so. Routines may look at flags, and what stores
/// records has its own order.
fn joins(request: &Request<'_>, inserted: &Insertions) -> bool {
    let on = request.optimize.has(Optimize::JOIN) && request.context.is_ordinary();
    on && inserted.calls.is_empty() && inserted.appends.is_empty()
}

/// Whether `tool` inserts something behind a branch that a trace of `ins` follows, on one way or the other: what is
/// inserted where a branch is taken stands aside, and there that would be what it goes on with.
pub(crate) fn inserts_behind_followed(request: &Request<'_>, tool: &dyn Tool, ins: &[Ins]) -> bool {
    let all = ask(tool, ins, request.image, request.context);
    let followed = |at: u32| ins[at as usize].followed;
    let counts = all.counts.iter().map(|it| (it.after, it.ins));
    let calls = all.calls.iter().map(|it| (it.after, it.ins));
    let appends = all.appends.iter().map(|it| (it.after, it.ins));
    let mut all = counts.chain(calls).chain(appends);
    all.any(|(behind, at)| behind && followed(at))
}

/// Appends `record` by a call.
fn append(form: &mut Form, ins: InsId, record: &AppendInsertion) {
    let args = record.fields.iter().map(|(_, value)| call_arg(*value));
    bridge::lower(form, ins, BUFFER_APPEND + record.buffer.0, args);
}

/// What is inserted around each instruction, to be asked for in their order.
pub(crate) struct Plan {
    /// In order of their place.
    groups: Vec<Group>,
    /// What is done where branches are taken.
    taken: Taken,
    /// Bytes from the head on that this depends on, if they are more than those of the trace.
    looked: u32,
    calls: Calls,
    cells: Cells,
    /// Those that have had their turn.
    groups_done: usize,
    /// Records that are stored in line.
    records: Records,
    /// Records that are appended by a call, in order of their place, then of insertion.
    appends: Vec<AppendInsertion>,
    /// Where the app may be led away.
    jumps: Jumps,
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
            taken: Taken::default(),
            looked: 0,
            calls: Calls::default(),
            cells,
            groups_done: 0,
            records: Records::default(),
            appends: Vec::new(),
            jumps: Jumps::default(),
        };
        if inserted.is_empty() {
            return plan;
        }
        let joins = stretches.is_some_and(<[_]>::is_empty) && joins(request, &inserted);
        let taken = taken::split(&mut inserted, ins);
        plan.jumps = Jumps::of(&inserted.calls);
        let leaves = |index| plan.jumps.leave_before(index);
        let stretches_in = stretches.unwrap_or_default();
        let live = live_where(ins, stretches_in, request.optimize, leaves);
        if !inserted.appends.is_empty() {
            // Records of several instructions are stored at one place, where no call is made.
            let changes = inserted.calls.iter().any(|call| call.into.is_some());
            let in_line = stretches.is_some() && request.optimize.has(Optimize::BUFFERS);
            plan.record(
                inserted.appends,
                in_line && !changes,
                ins,
                &live,
                request.image,
            );
        }
        if !inserted.counts.is_empty() {
            plan.merge(request, &inserted.counts, ins, &live, joins);
        }
        if !taken.counts.is_empty() {
            let mut colours = Colours::new(cells, request.image);
            plan.taken.add(&taken.counts, ins, &mut colours);
        }
        plan.taken.appends = taken.appends;
        let none = Bodies::new();
        let how = (request.optimize, request.bodies.unwrap_or(&none));
        let calls = |list: Vec<_>| match list.is_empty() {
            true => Calls::default(),
            false => Calls::new(list, tool, ins, &live, how, &plan.jumps),
        };
        (plan.calls, plan.taken.calls) = (calls(inserted.calls), calls(taken.calls));
        plan
    }

    /// Stores `records` in line, as far as that may be; others are told to the VM.
    fn record(
        &mut self,
        mut records: Vec<AppendInsertion>,
        in_line: bool,
        ins: &[Ins],
        live: &[u32],
        image: ImageBase,
    ) {
        let told = records.extract_if(.., |record| !in_line || !fields::fits(record));
        self.appends = told.collect();
        self.appends
            .sort_by_key(|record| (record.ins, record.after));
        self.records = Records::new(records, ins, live, image);
    }

    /// Merges `counts`; those of several blocks, if it `joins` them.
    fn merge(
        &mut self,
        request: &Request<'_>,
        counts: &[CountInsertion],
        ins: &[Ins],
        live: &[u32],
        joins: bool,
    ) {
        let colours = Colours::new(self.cells, request.image);
        let beyond = Beyond::new(request.pc, visible_bytes(request), request.optimize);
        let mut joining = Joining::new(beyond, request.optimize);
        let join = joins.then_some(&mut joining);
        self.groups = merge::groups(counts, ins, live, colours, &self.jumps, join);
        self.groups.sort_by_key(|group| (group.ins, group.after));
        self.looked = joining.looked();
        self.taken.dues = joining.dues;
    }

    /// What becomes of the calls, in a form like `form`.
    pub(crate) fn fates(&self, form: &Form, tool: &dyn Tool) -> Vec<Fate> {
        let mut fates = self.calls.fates(form, tool);
        fates.extend(self.taken.calls.fates(form, tool));
        fates
    }

    /// Whether routines or the VM are called: they may look at the app's stack, or lead the app away.
    pub(crate) fn calls(&self) -> bool {
        let told = !self.appends.is_empty() || !self.taken.appends.is_empty();
        !self.calls.is_done() || !self.taken.calls.is_done() || told
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
            form.instrumented = true;
            let mut needs = (temps..form.needs.len()).map(|number| form.needs.at(number as u16));
            let repeatable = !called && needs.all(|need| need.free == RegSet::NONE);
            form.push(Op::Itself { repeatable });
        }
    }

    /// Writes the instruction `site` itself, if it is a branch and something is done where it is taken, from
    /// where it goes on by `exit`.
    #[inline]
    pub(crate) fn branch(&mut self, form: &mut Form, site: &Site<'_>, exit: Op) -> bool {
        let branch = (site.id, site.ins);
        !self.taken.is_empty() && self.taken.branch(form, branch, self.cells, exit)
    }

    /// Bytes from the head on that the insertions depend on.
    pub(crate) const fn looked(&self) -> u32 {
        self.looked
    }

    /// What comes behind instruction `ins`, before the next one begins.
    #[inline]
    pub(crate) fn after(&mut self, form: &mut Form, ins: InsId) {
        if !self.is_done(ins) {
            self.insert(form, ins, true);
        }
    }

    /// Whether nothing is inserted.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_done(InsId(0)) && self.taken.is_empty()
    }

    /// Whether nothing is inserted behind the beginning of `ins`, and nothing but counts where branches before it
    /// are taken.
    pub(crate) fn ends_with(&self, ins: InsId) -> bool {
        let at = u32::from(ins.0);
        let before = |(place, after): (u32, bool)| place < at || place == at && !after;
        self.groups
            .iter()
            .all(|group| before((group.ins, group.after)))
            && self.appends.iter().all(|it| before((it.ins, it.after)))
            && self.records.end_before(at)
            && self.calls.is_done()
            && self.taken.only_counts_before(at)
    }

    /// Whether nothing is inserted from `ins` on.
    fn is_done(&self, ins: InsId) -> bool {
        let ins = u32::from(ins.0);
        self.groups_done == self.groups.len()
            && self.calls.is_done()
            && self.records.end_before(ins)
            && self.appends.last().is_none_or(|last| last.ins < ins)
    }

    /// What comes before or behind `ins`; whether a routine is called there.
    fn insert(&mut self, form: &mut Form, ins: InsId, after: bool) -> bool {
        let place = (u32::from(ins.0), after);
        if !after && self.jumps.leave_before(ins.0.into()) {
            // What is counted and recorded here is for who stays.
            self.count(form, place, RegSet::ANY, true);
            let called = self.calls.insert(form, ins, after, RegSet::ANY);
            self.count(form, place, RegSet::NONE, false);
            return self.append(form, ins, after) || called;
        }
        let looked_at = self.calls.looked_at(form, place);
        if !after {
            for batch in self.records.at(place.0) {
                fields::lower(form, &self.records, batch, ins);
            }
        }
        let told = self.append(form, ins, after);
        self.count(form, place, looked_at, false);
        self.calls.insert(form, ins, after, looked_at) || told
    }

    /// What is counted at `place`: all, or only for the `way_in`.
    fn count(&mut self, form: &mut Form, place: (u32, bool), looked_at: RegSet, way_in: bool) {
        while let Some(group) = self.groups.get(self.groups_done)
            && (group.ins, group.after) == place
            && (group.way_in || !way_in)
        {
            count::lower(form, group, self.cells, looked_at);
            self.groups_done += 1;
        }
    }

    /// Records that are appended by a call; whether there are any.
    fn append(&self, form: &mut Form, ins: InsId, after: bool) -> bool {
        let place = (u32::from(ins.0), after);
        let here = |record: &&AppendInsertion| (record.ins, record.after) == place;
        let mut any = false;
        for record in self.appends.iter().filter(here) {
            append(form, ins, record);
            any = true;
        }
        any
    }
}
