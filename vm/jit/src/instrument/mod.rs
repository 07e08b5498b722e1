//! What a tool inserted, as operations.
//!
//! Counts of one block are merged into as few additions as there are counters, put
//! where they cost least: where no flag is alive if there is such a place in the
//! block. Count rows tell the VM which instruction each part of an addition pays
//! for, so that a block left in the middle is corrected.

mod argument;
mod calls;
mod colour;
mod count;
mod merge;
mod operand;
mod source;

use crate::analyse::flags::live_flags;
use crate::decode::Ins;
use crate::form::{Form, InsId, Op, RegSet};
use crate::request::Request;
use alloc::vec::Vec;
use calls::Calls;
pub use calls::Fate;
use colour::Colours;
use core::ops::Range;
use merge::Group;
use ppin_abi::addr::ImageBase;
use ppin_abi::area::MAX_STATES;
use ppin_abi::context::Context;
use ppin_abi::counters::{Cells, GLOBAL_COUNTERS};
use ppin_api::compiler::{Insertions, Limits};
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
        routines: tool.routines(),
        states: tool.states().get(..MAX_STATES).unwrap_or(tool.states()),
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
    calls: Calls,
    cells: Cells,
    /// Those that have had their turn.
    groups_done: usize,
}

impl Plan {
    /// A plan for what `tool` inserts into the instructions `ins` of a trace that is entered in
    /// `context`.
    pub(crate) fn new(
        request: &Request<'_>,
        context: Context,
        tool: &dyn Tool,
        ins: &[Ins],
        stretches: &[Range<usize>],
    ) -> Self {
        let inserted = ask(tool, ins, request.image, context);
        let cells = Cells::new(tool.global_counters(), request.optimize);
        let mut plan = Self {
            groups: Vec::new(),
            calls: Calls::default(),
            cells,
            groups_done: 0,
        };
        if inserted.is_empty() {
            return plan;
        }
        let live = live_flags(ins, stretches, request.optimize);
        if !inserted.counts.is_empty() {
            let colours = Colours::new(cells, request.image);
            plan.groups = merge::groups(&inserted.counts, ins, &live, colours);
            plan.groups.sort_by_key(|group| (group.ins, group.after));
        }
        if !inserted.calls.is_empty() {
            plan.calls = Calls::new(inserted.calls, tool, ins, live, request.optimize);
        }
        plan
    }

    /// What becomes of the calls, in a form like `form`.
    pub(crate) fn fates(&self, form: &Form, tool: &dyn Tool) -> Vec<Fate> {
        self.calls.fates(form, tool)
    }

    /// What comes between the beginning of instruction `ins` and itself.
    #[inline]
    pub(crate) fn before(&mut self, form: &mut Form, ins: InsId) {
        if self.is_done() {
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
        if !self.is_done() {
            self.insert(form, ins, true);
        }
    }

    /// Whether nothing more is inserted.
    fn is_done(&self) -> bool {
        self.groups_done == self.groups.len() && self.calls.is_done()
    }

    /// What comes before or behind `ins`; whether a routine is called there.
    fn insert(&mut self, form: &mut Form, ins: InsId, after: bool) -> bool {
        let place = (u32::from(ins.0), after);
        let looked_at = self.calls.looked_at(form, place);
        while let Some(group) = self.groups.get(self.groups_done)
            && (group.ins, group.after) == place
        {
            count::lower(form, group, self.cells, looked_at);
            self.groups_done += 1;
        }
        self.calls.insert(form, ins, after, looked_at)
    }
}
