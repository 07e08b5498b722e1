//! From a request to a fragment.

use crate::emit::{Emitter, Source};
use crate::instrument::{Fate, Plan, inserts_behind_followed};
use crate::request::Request;
use crate::trace::{Branch, Comparing, Selection, branches, select};
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_api::Tool;
use ppin_decode::constants::{self, Constant};
use ppin_decode::tables::{self, Place};
use ppin_decode::{Ins, Kind};
use ppin_form::{CaseJump, Form, InsId, Op};
use ppin_liveness::flags::live_flags;
use ppin_lower::Site;
use ppin_lower::compare::Near;
use ppin_lower::sealed::is_sealed;
use ppin_relocator::{Fragment, Shape};

/// Translates the trace at `request.pc`, instrumented by `tool`.
///
/// Never fails: what cannot be translated becomes code that tells the VM, and the
/// same request always gives the same fragment.
#[must_use]
pub fn compile(request: &Request<'_>, tool: &dyn Tool) -> Fragment {
    compile_chosen(request, &choose(request), tool)
}

/// The instructions of a trace.
pub struct Chosen(Selection);

/// Chooses the trace at `request.pc`.
#[must_use]
pub fn choose(request: &Request<'_>) -> Chosen {
    Chosen(select(request))
}

impl Chosen {
    /// App bytes that it depends on.
    #[must_use]
    pub fn source_len(&self) -> u32 {
        self.0.source_len
    }

    /// Where they lie, in bytes from the head.
    pub fn places(&self) -> impl Iterator<Item = Range<u32>> {
        self.0.ins.iter().map(|ins| ins.offset..ins.end())
    }

    /// Which of its branches it follows.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.0.shape
    }

    /// The branches that it follows or might follow, in its order.
    pub fn branches(&self) -> impl Iterator<Item = Branch> {
        branches(&self.0.ins)
    }

    /// Addresses in its instructions that may be those of data or code.
    pub fn constants(&self) -> impl Iterator<Item = Constant> {
        self.0.ins.iter().filter_map(constants::of)
    }
}

/// [`compile`], the trace having been chosen for the same request.
#[must_use]
pub fn compile_chosen(request: &Request<'_>, chosen: &Chosen, tool: &dyn Tool) -> Fragment {
    let selection = &chosen.0;
    if minds_following(request, selection, tool) {
        return compile(&straight(request), tool);
    }
    let request = &of_selection(request, selection);
    let mut form = Form::new(request.context, request.optimize, selection.ins.len());
    let mut looked = 0;
    if let Some(trap) = selection.trap {
        ppin_lower::trap::lower(&mut form, request.pc, trap, request.context);
    } else {
        let comparing = comparing(request, selection, tool);
        let mut plan = instrument(request, selection, &comparing, tool);
        looked = plan.looked();
        let nothing = plan.is_empty() && comparing.stretches.is_empty();
        form.undisturbed = nothing && form.may_keep_registers();
        form.leaves_sealed = leaves_sealed(&form, request, selection);
        form.cases = cases(&form, request, selection, &comparing, &plan);
        lower_arrival(&mut form, request, &comparing, selection, &plan);
        lower_trace(&mut form, request, &comparing, selection, &mut plan);
        lower_end(&mut form, selection, tool);
    }
    let mut emitter = Emitter::new(request.pc, request.image, request.context, &form);
    if selection.trap.is_some() {
        emitter.begin(0, false);
    }
    let source = Source {
        ins: &selection.ins,
        bytes: request.bytes,
    };
    emitter.decided = selection.decided;
    emitter.proved = form.cases.map(|jump| jump.proved);
    emitter.emit(&mut form, &source, &mut 0);
    let mut fragment = emitter.finish(selection.source_len, translated(selection));
    fragment.shape = selection.shape;
    fragment.depend_on(looked);
    fragment
}

/// Whether the trace follows a branch behind which `tool` has inserted something, on one way or the other.
fn minds_following(request: &Request<'_>, selection: &Selection, tool: &dyn Tool) -> bool {
    !selection.shape.is_straight() && inserts_behind_followed(request, tool, &selection.ins)
}

fn straight<'a>(request: &Request<'a>) -> Request<'a> {
    let shape = Shape::STRAIGHT;
    Request { shape, ..*request }
}

/// What is assumed of the fragment: nobody calls what only tells the VM that it cannot be translated.
fn of_selection<'a>(request: &Request<'a>, selection: &Selection) -> Request<'a> {
    let mut request = *request;
    if selection.trap.is_some() {
        request.context = request.context.without(Context::CALLED);
    }
    request
}

/// What becomes of the calls that `tool` inserts into the trace at `request.pc`: for listings.
#[must_use]
pub fn fates(request: &Request<'_>, tool: &dyn Tool) -> Vec<Fate> {
    let mut selection = select(request);
    if minds_following(request, &selection, tool) {
        selection = select(&straight(request));
    }
    let form = Form::new(request.context, request.optimize, selection.ins.len());
    let comparing = comparing(request, &selection, tool);
    instrument(request, &selection, &comparing, tool).fates(&form, tool)
}

/// Instructions that the fragment can execute: none if it consists of a trap.
fn translated(selection: &Selection) -> u32 {
    match selection.ins.first() {
        Some(ins) if matches!(ins.kind, Kind::Trap(_)) => 0,
        _ => selection.ins.len() as u32,
    }
}

/// Where the trace compares its source. (What routines return may become the value of a register.)
fn comparing(request: &Request<'_>, selection: &Selection, tool: &dyn Tool) -> Comparing {
    let wanted = request.optimize.has(Optimize::APART);
    let apart = wanted && tool.routines().is_empty();
    Comparing::of(&selection.ins, request.context, apart)
}

/// Lets the tool look at the trace.
fn instrument(
    request: &Request<'_>,
    selection: &Selection,
    comparing: &Comparing,
    tool: &dyn Tool,
) -> Plan {
    let (ins, stretches) = (&selection.ins, &comparing.stretches);
    Plan::new(request, request.context, tool, ins, Some(stretches))
}

/// Whether the trace ends with a jump through a cell that the loader makes read-only.
fn leaves_sealed(form: &Form, request: &Request<'_>, selection: &Selection) -> bool {
    let last = selection.ins.last();
    let jump = last.filter(|ins| ins.kind == Kind::IndirectJump);
    jump.is_some_and(|ins| is_sealed(form, ins, request.image, request.sealed))
}

/// By which table the jump goes that ends the trace, if it does and that does not change.
fn cases(
    form: &Form,
    request: &Request<'_>,
    selection: &Selection,
    comparing: &Comparing,
    plan: &Plan,
) -> Option<CaseJump> {
    let on = form.optimize.has(Optimize::TABLES) && form.looks_up_in_line() && request.steady;
    // (Routines may change the index, and code that compares itself is left and entered anywhere.)
    let quiet = request.context.is_ordinary() && comparing.stretches.is_empty() && !plan.calls();
    let by = (on && quiet).then(|| tables::of(&selection.ins))??;
    if let Place::Known(table) = by.table {
        table.offset_from(request.image)?;
    }
    CaseJump::new(&selection.ins, &by).filter(|jump| plan.ends_with(jump.at))
}

/// What comes before the trace, where control comes by other ways than links of jumps.
fn lower_arrival(
    form: &mut Form,
    request: &Request<'_>,
    comparing: &Comparing,
    selection: &Selection,
    plan: &Plan,
) {
    if request.context.contains(Context::CALLED) {
        let unseen = comparing.stretches.is_empty() && !plan.calls();
        return ppin_lower::called::lower(form, unseen.then_some(&selection.ins));
    }
    let head = request.pc.offset_from(request.image);
    if let Some(head) = head.filter(|_| request.arrives && form.looks_up_in_line()) {
        ppin_lower::arrive::lower(form, head);
    }
}

fn lower_trace(
    form: &mut Form,
    request: &Request<'_>,
    comparing: &Comparing,
    selection: &Selection,
    plan: &mut Plan,
) {
    let image = request.image;
    let compares = !comparing.stretches.is_empty();
    let watched = request.context.contains(Context::WATCHED);
    let mut block = !request.context.contains(Context::CONTINUATION);
    for (index, ins) in selection.ins.iter().enumerate() {
        let id = InsId(index as u16);
        form.push(Op::Begin { ins: id, block });
        if plan.is_ahead(id) {
            form.push(Op::Ahead);
        }
        block = ins.kind.ends_block() && ins.falls_through() || ins.kind.is_call();
        if compares {
            compare(form, request, comparing, selection, index);
        }
        plan.before(form, id);
        ppin_lower::cases::before(form, id);
        let behind = if form.undisturbed {
            &selection.ins[index + 1..]
        } else {
            &[]
        };
        let site = Site {
            id,
            ins,
            image,
            sealed: request.sealed,
            before: index.checked_sub(1).map(|before| &selection.ins[before]),
            behind,
        };
        if watched && ins.stores_word() {
            ppin_lower::rseq_store::lower(form, &site);
        } else if !plan.branch(form, &site, exit_taken(form, id)) {
            ppin_lower::lower(form, &site);
        }
        plan.after(form, id);
        form.settle(id);
    }
}

/// How a branch leaves the trace.
pub(crate) fn exit_taken(form: &Form, ins: InsId) -> Op {
    let context = form.exit_context();
    Op::ExitTaken { ins, context }
}

/// Where a stretch begins, its bytes are compared.
fn compare(
    form: &mut Form,
    request: &Request<'_>,
    comparing: &Comparing,
    selection: &Selection,
    index: usize,
) {
    let stretch = comparing.stretches.iter().find(|s| s.start == index);
    let Some(stretch) = stretch.filter(|s| !s.is_empty()) else {
        return;
    };
    let ins = &selection.ins[stretch.clone()];
    let len: u32 = ins.iter().map(Ins::len).sum();
    let dead = live_flags(ins, &[], form.optimize).first() == Some(&0);
    let last = InsId(stretch.end as u16 - 1);
    let on_entry = comparing.apart.as_ref().filter(|_| index == 0);
    // (The head is less than 2 GiB away from the base of its image.)
    let head = request.pc.offset_from(request.image).unwrap_or_default();
    let near = on_entry.map(|apart| Near::new(head, selection.source_len, apart));
    let stretch = (InsId(index as u16), last);
    ppin_lower::compare::lower(form, stretch, len as usize, near, dead);
}

/// A trace whose last instruction goes on to the next one leaves to it.
fn lower_end(form: &mut Form, selection: &Selection, tool: &dyn Tool) {
    let Some(last) = selection.ins.last() else {
        return;
    };
    let returns = last.kind.is_call() && form.pairs_returns();
    if last.kind.falls_through() || last.kind == Kind::Faulting || returns {
        let ins = InsId(selection.ins.len() as u16 - 1);
        let context = end_context(form, last, tool);
        form.push(Op::ExitNext { ins, context });
    }
    form.append_tail();
}

/// Behind a mere limit, the block goes on in the next trace.
pub(crate) fn end_context(form: &Form, last: &Ins, tool: &dyn Tool) -> Context {
    let context = form.exit_context();
    if !last.kind.ends_block() && tool.distinguishes_blocks() {
        context.with(Context::CONTINUATION)
    } else {
        context
    }
}
