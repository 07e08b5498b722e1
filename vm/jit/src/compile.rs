//! From a request to a fragment.

use crate::analyse::flags::live_flags;
use crate::decode::constants::{self, Constant};
use crate::decode::{Ins, Kind};
use crate::emit::{Emitter, ExitTo};
use crate::instrument::{self, Plan};
use crate::lower::{self, Site};
use crate::request::Request;
use crate::trace::{Selection, select};
use ppin_abi::context::Context;
use ppin_api::Tool;
use ppin_relocator::Fragment;

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

    /// Addresses in its instructions that may be those of data or code.
    pub fn constants(&self) -> impl Iterator<Item = Constant> {
        self.0.ins.iter().filter_map(constants::of)
    }
}

/// [`compile`], the trace having been chosen for the same request.
#[must_use]
pub fn compile_chosen(request: &Request<'_>, chosen: &Chosen, tool: &dyn Tool) -> Fragment {
    let selection = &chosen.0;
    let mut emitter = Emitter::new(
        request.pc,
        request.image,
        request.context,
        selection.ins.len(),
        selection.source_len as usize,
    );
    if let Some(trap) = selection.trap {
        emitter.boundary(0);
        lower::trap::emit(&mut emitter, request.pc, 0, trap, request.context);
    } else {
        let plan = instrument(request, selection, tool);
        emit_trace(&mut emitter, request, selection, &plan);
        emit_end(&mut emitter, selection, tool);
    }
    emitter.finish(selection.source_len, translated(selection))
}

/// Instructions that the fragment can execute: none if it consists of a trap.
fn translated(selection: &Selection) -> u32 {
    match selection.ins.first() {
        Some(ins) if matches!(ins.kind, Kind::Trap(_)) => 0,
        _ => selection.ins.len() as u32,
    }
}

/// Lets the tool look at the trace.
fn instrument(request: &Request<'_>, selection: &Selection, tool: &dyn Tool) -> Plan {
    let inserted = instrument::ask(tool, &selection.ins, request.image, request.context);
    Plan::new(inserted, &selection.ins, &selection.stretches)
}

fn emit_trace(emitter: &mut Emitter, request: &Request<'_>, selection: &Selection, plan: &Plan) {
    let mut block = !request.context.contains(Context::CONTINUATION);
    for (index, ins) in selection.ins.iter().enumerate() {
        emitter.boundary(ins.offset);
        if block {
            emitter.block_start();
        }
        block = matches!(ins.kind, Kind::CondJump | Kind::ShortJump);
        compare(emitter, request, selection, index);
        plan.emit_before(emitter, index, ins);
        let site = Site {
            ins,
            bytes: &request.bytes[ins.offset as usize..ins.end() as usize],
            executed: index as u32 + 1,
        };
        if request.context.contains(Context::WATCHED) && ins.stores_word() {
            lower::rseq_store::emit(emitter, &site);
        } else {
            lower::emit(emitter, &site);
        }
        plan.emit_after(emitter, index, ins);
    }
}

/// Where a stretch begins, its bytes are compared.
fn compare(emitter: &mut Emitter, request: &Request<'_>, selection: &Selection, index: usize) {
    let stretch = selection.stretches.iter().find(|s| s.start == index);
    let Some(ins) = stretch.and_then(|s| selection.ins.get(s.clone())) else {
        return;
    };
    let (Some(first), Some(last)) = (ins.first(), ins.last()) else {
        return;
    };
    let dead = live_flags(ins, &[]).first() == Some(&0);
    let bytes = &request.bytes[first.offset as usize..last.end() as usize];
    emitter.compare(first.pc(), first.offset, bytes, dead);
}

/// A trace whose last instruction goes on to the next one leaves to it.
fn emit_end(emitter: &mut Emitter, selection: &Selection, tool: &dyn Tool) {
    let Some(last) = selection.ins.last() else {
        return;
    };
    if last.kind.falls_through() || last.kind == Kind::Faulting {
        let exit = ExitTo {
            target: last.next(),
            context: end_context(emitter, last, tool),
            executed: selection.ins.len() as u32,
        };
        emitter.exit_jump(exit);
    }
}

/// Behind a mere limit, the block goes on in the next trace.
pub(crate) fn end_context(emitter: &Emitter, last: &Ins, tool: &dyn Tool) -> Context {
    let context = emitter.exit_context();
    if !last.kind.ends_block() && tool.distinguishes_blocks() {
        context.with(Context::CONTINUATION)
    } else {
        context
    }
}
