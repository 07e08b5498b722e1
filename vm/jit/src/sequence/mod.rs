//! The translation of a restartable sequence (rseq(2)).
//!
//! The kernel knows a sequence by a descriptor: first address, length, abort handler.
//! While the thread is in that range and is preempted, migrated or given a signal, it
//! goes on at the handler. So the whole sequence lies in the cache in one piece, with a
//! descriptor of its own, which takes the place of the app's when that is announced:
//!
//! ```text
//! head     the store that announces the sequence, if that is the instruction before it;
//!          else a check whether it has been announced        (emit::sequence)
//! range    the sequence: branches inside it stay inside
//!          exit to what follows
//! cold     the stub at which the kernel lets aborted threads go on
//! ```
//! The range ends with the last instruction itself: behind that, it has committed.

mod landing;

pub use landing::{LandingSlot, compile_landing};

use crate::compile::end_context;
use crate::decode::{Ins, InsReader, Kind};
use crate::emit::{Emitter, ExitTo, InSequence};
use crate::instrument::{self, Plan};
use crate::lower::{self, Site, rseq_store, within};
use crate::request::{Request, Sequence};
use crate::trace::checked;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::AppPc;
use ppin_abi::context::Context;
use ppin_abi::record::Trap;
use ppin_api::Tool;
use ppin_relocator::{Fragment, RelocKind};

/// A translated sequence and where its parts are.
pub struct SequenceCode {
    /// The code.
    pub fragment: Fragment,
    /// What the kernel protects, in hot code.
    pub range: Range<u32>,
    /// The abort stub, in cold code.
    pub abort: u32,
    /// First of four slots for `struct rseq_cs`.
    pub descriptor: u16,
    /// Slot for what makes 0 with the address of the app's descriptor.
    pub expected: u16,
}

/// Length of the instruction at the beginning of `bytes`.
#[must_use]
pub fn length(pc: AppPc, bytes: &[u8]) -> Option<u32> {
    InsReader::new(pc, bytes).read().ok().map(|ins| ins.len())
}

/// Whether the instruction at `pc` is a store that announces a sequence at `start`, if
/// it is one to the right place.
#[must_use]
pub fn announces(pc: AppPc, bytes: &[u8], start: AppPc) -> bool {
    let ins = InsReader::new(pc, bytes).read();
    ins.is_ok_and(|ins| ins.next() == start && ins.stores_word())
}

/// Translates `sequence`. `request.pc` is its start or a store that announces it, and
/// the bytes end where it does.
#[must_use]
pub fn compile_sequence(
    request: &Request<'_>,
    sequence: &Sequence,
    tool: &dyn Tool,
) -> SequenceCode {
    let ins = read(request);
    let len = request.bytes.len();
    let mut emitter = Emitter::new(request.pc, request.image, request.context, ins.len(), len);
    let state = emitter.begin_sequence(sequence);
    let mut builder = Builder {
        emitter,
        request,
        sequence,
        tool,
        at: vec![0; ins.len()],
        starts: piece_starts(&ins, sequence),
        ins,
        branches: Vec::new(),
        range: 0..0,
    };
    builder.all();
    builder.finish(&state)
}

/// The instructions up to the end, or up to the first that cannot be told.
fn read(request: &Request<'_>) -> Vec<Ins> {
    let mut reader = InsReader::new(request.pc, request.bytes);
    let read = || reader.read().ok();
    core::iter::from_fn(read)
        .map(|ins| checked(ins, request, request.bytes))
        .collect()
}

/// Indices at which a straight piece begins: what is branched to, and what follows
/// an instruction that never goes on.
fn piece_starts(ins: &[Ins], sequence: &Sequence) -> Vec<usize> {
    let targets = ins.iter().filter_map(|i| inside(i, ins, sequence));
    let behind = (1..)
        .zip(ins)
        .filter(|(_, i)| !i.kind.falls_through() || leaves(i))
        .map(|(n, _)| n);
    let at_leaving = (0..).zip(ins).filter(|(_, i)| leaves(i)).map(|(n, _)| n);
    let mut starts: Vec<usize> = [0]
        .into_iter()
        .chain(targets)
        .chain(behind)
        .chain(at_leaving)
        .filter(|n| *n < ins.len())
        .collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Index of the instruction that `branch` leads to, if that is in the sequence.
fn inside(branch: &Ins, ins: &[Ins], sequence: &Sequence) -> Option<usize> {
    let direct = matches!(branch.kind, Kind::Jump | Kind::CondJump | Kind::ShortJump);
    let target = direct
        .then(|| branch.target())
        .filter(|t| sequence.holds(*t))?;
    ins.iter().position(|i| i.pc() == target)
}

/// Whether it goes where nothing is protected any more: it is translated on its own,
/// outside.
fn leaves(ins: &Ins) -> bool {
    matches!(
        ins.kind,
        Kind::Call
            | Kind::IndirectCall
            | Kind::IndirectJump
            | Kind::Ret
            | Kind::Syscall
            | Kind::TransactionBegin
            | Kind::Faulting
    )
}

/// Whether nothing comes behind its own effect.
fn exact(ins: &Ins) -> bool {
    let kind = matches!(
        ins.kind,
        Kind::Verbatim | Kind::RipRelative | Kind::Jump | Kind::CondJump | Kind::ShortJump
    );
    kind && ins.x87_pointer.is_none()
}

struct Builder<'a> {
    emitter: Emitter,
    request: &'a Request<'a>,
    sequence: &'a Sequence,
    tool: &'a dyn Tool,
    ins: Vec<Ins>,
    /// Hot offset of each instruction.
    at: Vec<u32>,
    /// Where its straight pieces begin.
    starts: Vec<usize>,
    /// Fields of branches inside, and the instructions they lead to.
    branches: Vec<(u32, usize)>,
    range: Range<u32>,
}

impl Builder<'_> {
    fn all(&mut self) {
        let ends = self.starts.iter().skip(1).copied();
        let pieces: Vec<_> = self
            .starts
            .iter()
            .copied()
            .zip(ends.chain([self.ins.len()]))
            .collect();
        for (from, to) in pieces {
            self.piece(from, to);
        }
        let len = self.request.bytes.len() as u32;
        if self.ins.last().map_or(0, Ins::end) != len {
            self.unsupported(self.ins.last().map_or(0, Ins::end));
            self.range.end = self.emitter.hot.here();
            self.emitter.end_sequence();
        } else {
            self.go_on();
        }
    }

    fn piece(&mut self, from: usize, to: usize) {
        let context = if from == 0 {
            self.request.context
        } else {
            self.request.context.without(Context::CONTINUATION)
        };
        let ins = self.ins.get(from..to).unwrap_or_default().to_vec();
        if let [only] = ins[..]
            && leaves(&only)
        {
            return self.leave(from, &only);
        }
        let inserted = instrument::ask(self.tool, &ins, self.request.image, context);
        let plan = Plan::new(inserted, &ins, &[]);
        let mut block = !context.contains(Context::CONTINUATION);
        for (n, one) in ins.iter().enumerate() {
            self.boundary(from + n, one, block);
            block = matches!(one.kind, Kind::CondJump | Kind::ShortJump);
            plan.emit_before(&mut self.emitter, n, one);
            self.instruction(from + n, one);
            plan.emit_after(&mut self.emitter, n, one);
        }
    }

    fn boundary(&mut self, index: usize, ins: &Ins, block: bool) {
        self.note_boundary(index, ins, block);
        if index == 0 && self.request.pc == self.sequence.start {
            let context = self.request.context;
            self.range.start = self.emitter.check_entry(self.sequence, context);
            self.note_boundary(index, ins, block);
        }
    }

    fn note_boundary(&mut self, index: usize, ins: &Ins, block: bool) {
        self.emitter.boundary(ins.offset);
        if block {
            self.emitter.block_start();
        }
        self.at[index] = self.emitter.hot.here();
    }

    fn instruction(&mut self, index: usize, ins: &Ins) {
        let request = self.request;
        let site = Site {
            ins,
            bytes: &request.bytes[ins.offset as usize..ins.end() as usize],
            executed: index as u32 + 1,
        };
        let last = ins.end() as usize == request.bytes.len();
        if matches!(ins.kind, Kind::Trap(_)) || last && !exact(ins) {
            self.unsupported(ins.offset);
        } else if let Some(target) = inside(ins, &self.ins, self.sequence) {
            let field = within::emit(&mut self.emitter, &site);
            self.branches.push((field, target));
        } else if !last && ins.stores_word() {
            let start = rseq_store::emit(&mut self.emitter, &site);
            self.announced(ins, start);
        } else {
            lower::emit(&mut self.emitter, &site);
        }
        if last {
            self.range.end = self.emitter.hot.here();
            self.emitter.end_sequence();
        }
    }

    /// Behind a store that may announce a sequence: the protection of this one begins
    /// if it is the one before it.
    fn announced(&mut self, ins: &Ins, start: u32) {
        if ins.next() == self.sequence.start {
            self.range.start = start;
            self.emitter.protect();
        }
    }

    fn unsupported(&mut self, app: u32) {
        let pc = self.request.pc.wrapping_add(u64::from(app));
        let context = self.emitter.exit_context();
        let emitter = &mut self.emitter;
        lower::trap::emit(emitter, pc, app, Trap::RseqUnsupported, context);
        emitter.row(app, 0, 0);
    }

    /// `ins` is translated on its own, outside.
    fn leave(&mut self, index: usize, ins: &Ins) {
        self.emitter.row(ins.offset, 0, 0);
        self.at[index] = self.emitter.hot.here();
        let reached = index.checked_sub(1).and_then(|before| self.ins.get(before));
        let context = match reached {
            Some(before) if before.kind.is_plain() => end_context(&self.emitter, before, self.tool),
            _ => self.emitter.exit_context(),
        };
        self.emitter.exit_jump(ExitTo {
            target: ins.pc(),
            context,
            executed: index as u32,
        });
        if ins.end() as usize == self.request.bytes.len() {
            self.range.end = self.emitter.hot.here();
            self.emitter.end_sequence();
        }
    }

    /// To what follows the sequence.
    fn go_on(&mut self) {
        let Some(last) = self.ins.last() else { return };
        if last.kind.falls_through() {
            let exit = ExitTo {
                target: self.sequence.end,
                context: end_context(&self.emitter, last, self.tool),
                executed: self.ins.len() as u32,
            };
            self.emitter.exit_jump(exit);
        }
    }

    fn finish(mut self, state: &InSequence) -> SequenceCode {
        for (field, target) in self.branches {
            let at = RelocKind::Hot(self.at[target]);
            self.emitter.relocate_hot_at(field, 4, at);
        }
        let len = self.request.bytes.len() as u32;
        let fragment = self.emitter.finish(len, self.ins.len() as u32);
        SequenceCode {
            fragment,
            range: self.range,
            abort: state.abort,
            descriptor: state.descriptor,
            expected: state.expected,
        }
    }
}
