//! Trace selection: which app instructions one fragment covers.
//!
//! A trace is a straight line. It goes on behind a branch that is not taken and
//! ends at whatever never goes on to the next instruction, at the limits below,
//! and before the first instruction that cannot be translated. Where its shape says so, it goes on at the target of a
//! branch instead ([`follow`]). So it depends on
//! the app's bytes and its shape alone, and the same bytes give the same trace.

mod comparing;
mod follow;

use crate::request::{BytesEnd, MAX_TRACE_BYTES, Request, is_low};
use alloc::vec::Vec;
use iced_x86::InstructionInfoFactory;
use ppin_abi::addr::AppPc;
use ppin_abi::context::Context;
use ppin_abi::record::Trap;
use ppin_decode::{Ins, InsReader, Kind, MAX_INS_LEN, NoIns, effects, x87};
use ppin_form::pairs_returns;
use ppin_operand::{absolute, rebased};
use ppin_relocator::Shape;

pub(crate) use comparing::Comparing;
pub use follow::Branch;
use follow::Follower;
pub(crate) use follow::branches;

/// Most instructions in a trace.
pub(crate) const MAX_INS: usize = 64;
/// Most conditional branches in a trace.
pub(crate) const MAX_BRANCHES: usize = 6;

/// A chosen trace.
pub(crate) struct Selection {
    pub ins: Vec<Ins>,
    /// If the first instruction could not be decoded: why.
    pub trap: Option<Trap>,
    /// App bytes that it depends on.
    pub source_len: u32,
    /// Offset of the last instruction whose translation was decided by instructions before it; 0: none was.
    pub decided: u32,
    /// Which of its branches it follows.
    pub shape: Shape,
}

/// Chooses the trace of `request`.
pub(crate) fn select(request: &Request<'_>) -> Selection {
    let bytes = visible_bytes(request);
    let mut reader = InsReader::new(request.pc, bytes);
    let mut follower = Follower::new(request);
    let mut ins = Vec::with_capacity(32);
    let (mut branches, mut decided) = (0, 0);
    while ins.len() < MAX_INS {
        ins.push(Ins::blank());
        let Some((next, before)) = ins.split_last_mut() else {
            break;
        };
        let read = reader.read_into(next);
        if let (Err(reason), []) = (read, &*before) {
            return undecoded(bytes, reason, request.end);
        }
        if read.is_err() || !belongs(next, before, request, bytes) {
            ins.pop();
            break;
        }
        if leaves_x87_out(next, before) {
            next.x87_pointer = None;
            decided = next.offset;
        }
        if let Some(from_target) = follower.follow(next, bytes) {
            reader = from_target;
            continue;
        }
        let returns = next.kind.is_call() && pairs_returns(request.context, request.optimize);
        branches += usize::from(returns || matches!(next.kind, Kind::CondJump | Kind::ShortJump));
        // (What comes behind a call may have changed until it returns.)
        let goes_on = returns && request.context.is_ordinary();
        if !(next.kind.falls_through() || goes_on)
            || branches == MAX_BRANCHES
            || stops(next, request)
        {
            break;
        }
    }
    let shape = follower.finish(&mut ins);
    let source_len = ins.last().map_or(0, Ins::end);
    Selection {
        ins,
        trap: None,
        source_len,
        decided,
        shape,
    }
}

/// Whether `next`, behind `before`, belongs to the trace; what is to be done with it becomes final.
fn belongs(next: &mut Ins, before: &[Ins], request: &Request<'_>, bytes: &[u8]) -> bool {
    check(next, request, bytes);
    if !before.is_empty() && (matches!(next.kind, Kind::Trap(_)) || runs_into(next, request)) {
        return false;
    }
    true
}

/// Whether `next`, behind `before`, could store the x87 instruction pointer, and certainly does not.
fn leaves_x87_out(next: &Ins, before: &[Ins]) -> bool {
    next.x87_pointer.is_some() && x87::left_out(&next.raw, before.iter().map(|ins| &ins.raw))
}

/// Whether `next` belongs to a restartable sequence, or announces the one behind it.
fn runs_into(next: &Ins, request: &Request<'_>) -> bool {
    request.sequences.iter().any(|sequence| {
        let announces = next.next() == sequence.start && next.stores_word();
        sequence.holds(next.pc()) || announces
    })
}

/// The bytes that this trace may look at.
pub(crate) fn visible_bytes<'a>(request: &Request<'a>) -> &'a [u8] {
    let recorded = request.max_source.map_or(usize::MAX, |len| len as usize);
    let len = request.bytes.len().min(MAX_TRACE_BYTES).min(recorded);
    &request.bytes[..len]
}

/// An instruction whose addresses cannot be expressed is left to the VM.
pub(crate) fn check(ins: &mut Ins, request: &Request<'_>, bytes: &[u8]) {
    if ins.kind == Kind::GsMemory && !rebased::convertible(ins) {
        ins.kind = Kind::Trap(Trap::Segment);
    }
    if !within_reach(ins, request, bytes) {
        ins.kind = Kind::Trap(Trap::Unsupported);
    }
}

fn within_reach(ins: &Ins, request: &Request<'_>, bytes: &[u8]) -> bool {
    let near = |pc: AppPc| pc.offset_from(request.image).is_some();
    let target = !ins.kind.is_direct_branch() || near(ins.target());
    let operand = ins.disp_at == 0
        || matches!(ins.kind, Kind::Trap(_))
        || near(AppPc(ins.raw.ip_rel_memory_address())) && rip_form(ins, request, bytes);
    near(ins.next()) && target && operand
}

/// Whether the rip-relative operand has a form that works in the cache: the same
/// with another distance, or in a low image an absolute address. A distance from
/// `eip` wraps at 4 GiB, so only the second can stand for it.
fn rip_form(ins: &Ins, request: &Request<'_>, bytes: &[u8]) -> bool {
    if !is_low(request.image) {
        return ins.raw.memory_base() == iced_x86::Register::RIP;
    }
    let bytes = &bytes[ins.offset as usize..ins.end() as usize];
    absolute::convertible(ins, bytes)
}

/// Code that may rewrite itself, and does not look whether it has, is left after each write.
fn stops(ins: &Ins, request: &Request<'_>) -> bool {
    let context = request.context;
    let blind = context.contains(Context::VOLATILE) && !context.contains(Context::COMPARED);
    blind && effects::writes_memory(&ins.raw, &mut InstructionInfoFactory::new())
}

/// The first instruction is none. What was looked at to find that out counts as
/// source, so that a change of it is noticed.
fn undecoded(bytes: &[u8], reason: NoIns, end: BytesEnd) -> Selection {
    let trap = match (reason, end) {
        (NoIns::Invalid, _) => Trap::Undecodable,
        (NoIns::Incomplete, BytesEnd::Unreadable) => Trap::Unreadable,
        (NoIns::Incomplete, BytesEnd::Limit) => Trap::Unsupported,
    };
    Selection {
        ins: Vec::new(),
        trap: Some(trap),
        source_len: bytes.len().min(MAX_INS_LEN) as u32,
        decided: 0,
        shape: Shape::STRAIGHT,
    }
}
