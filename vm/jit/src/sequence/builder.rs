//! Code for one piece of a sequence after the other.

use super::pieces::{exact, inside, leaves, piece_starts, read};
use crate::compile::{end_context, exit_taken};
use crate::emit::{Emitter, ExitTo, InSequence, Source};
use crate::instrument::Plan;
use crate::request::{Request, Sequence};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::ImageRange;
use ppin_abi::context::Context;
use ppin_abi::record::Trap;
use ppin_api::Tool;
use ppin_decode::{Ins, Kind};
use ppin_form::{Form, InsId, Op, Record};
use ppin_lower::Site;
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

/// Translates `sequence`. `request.pc` is its start or a store that announces it, and
/// the bytes end where it does.
#[must_use]
pub fn compile_sequence(
    request: &Request<'_>,
    sequence: &Sequence,
    tool: &dyn Tool,
) -> SequenceCode {
    let ins = read(request);
    let mut form = Form::new(request.context, request.optimize, ins.len());
    let mut emitter = Emitter::new(request.pc, request.image, request.context, &form);
    let state = emitter.begin_sequence(sequence, form.exit_context());
    form.sequence = Some(state.slots);
    let mut builder = Builder {
        emitter,
        form,
        lost: 0,
        request,
        sequence,
        tool,
        at: vec![0; ins.len()],
        starts: piece_starts(&ins, sequence),
        ins,
        range: 0..0,
    };
    builder.all();
    builder.finish(&state)
}

struct Builder<'a> {
    emitter: Emitter,
    /// Of the instruction at hand.
    form: Form,
    /// Flags that have been destroyed, for checks.
    lost: u32,
    request: &'a Request<'a>,
    sequence: &'a Sequence,
    tool: &'a dyn Tool,
    ins: Vec<Ins>,
    /// Hot offset of each instruction.
    at: Vec<u32>,
    /// Where its straight pieces begin.
    starts: Vec<usize>,
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
        let end = self.ins.last().map_or(0, Ins::end);
        if end == len {
            self.go_on();
        } else {
            self.emitter.begin_inside(end);
            self.unsupported(end);
            self.emit(0..0);
            self.end();
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
        let mut plan = Plan::new(self.request, context, self.tool, &ins, None);
        let mut block = !context.contains(Context::CONTINUATION);
        for (n, one) in ins.iter().enumerate() {
            let id = InsId(n as u16);
            self.boundary(from + n, one, block);
            block = matches!(one.kind, Kind::CondJump | Kind::ShortJump);
            plan.before(&mut self.form, id);
            self.instruction(id, one, &mut plan);
            self.emit(from..to);
            self.done(one);
            plan.after(&mut self.form, id);
            self.emit(from..to);
        }
    }

    /// Emits the form, which belongs to the instructions `piece`.
    fn emit(&mut self, piece: Range<usize>) {
        let source = Source {
            ins: &self.ins[piece],
            bytes: self.request.bytes,
        };
        self.form.append_tail_here();
        self.emitter.emit(&mut self.form, &source, &mut self.lost);
        self.form.clear();
    }

    fn boundary(&mut self, index: usize, ins: &Ins, block: bool) {
        self.note_boundary(index, ins, block);
        if index == 0 && self.request.pc == self.sequence.start {
            self.check_entry();
            self.note_boundary(index, ins, block);
        }
    }

    fn note_boundary(&mut self, index: usize, ins: &Ins, block: bool) {
        self.emitter.begin(ins.offset, block);
        self.at[index] = self.emitter.hot.here();
    }

    /// At the head of the sequence.
    fn check_entry(&mut self) {
        let Some(slots) = self.form.sequence else {
            return;
        };
        let record = Record::Trap {
            pc: self.sequence.start,
            trap: Trap::RseqEntry,
            context: self.request.context,
        };
        ppin_lower::rseq_entry::lower(&mut self.form, &slots, record);
        self.emit(0..0);
        self.protect();
    }

    /// The kernel has been told of this sequence by the code just emitted.
    fn protect(&mut self) {
        self.range.start = self.emitter.announced;
        if let Some(slots) = &mut self.form.sequence {
            slots.protected = true;
        }
    }

    fn instruction(&mut self, id: InsId, ins: &Ins, plan: &mut Plan) {
        let last = self.is_last(ins);
        let image = self.request.image;
        let behind = &[];
        let site = Site {
            id,
            ins,
            image,
            sealed: ImageRange::NONE,
            before: None,
            behind,
        };
        if matches!(ins.kind, Kind::Trap(_)) || last && !exact(ins) {
            return self.unsupported(ins.offset);
        }
        let target = inside(ins, &self.ins, self.sequence);
        let within = target.map(|target| InsId(target as u16));
        let exit = within.map_or_else(|| exit_taken(&self.form, id), |to| Op::GoWithin { to });
        if plan.branch(&mut self.form, &site, exit) {
            return;
        }
        match within {
            Some(to) => self.form.push(Op::Within { ins: id, to }),
            None if !last && ins.stores_word() => {
                ppin_lower::rseq_store::lower(&mut self.form, &site);
            }
            None => ppin_lower::lower(&mut self.form, &site),
        }
    }

    /// The code of `ins` has been emitted. Behind a store that may announce a sequence the
    /// protection of this one begins if it is the one before it.
    fn done(&mut self, ins: &Ins) {
        let last = self.is_last(ins);
        if !last && ins.stores_word() && ins.next() == self.sequence.start {
            self.protect();
        }
        if last {
            self.end();
        }
    }

    fn is_last(&self, ins: &Ins) -> bool {
        ins.end() as usize == self.request.bytes.len()
    }

    /// The sequence has committed.
    fn end(&mut self) {
        self.range.end = self.emitter.hot.here();
        self.emitter.end_sequence();
        self.form.sequence = None;
    }

    fn unsupported(&mut self, app: u32) {
        let pc = self.request.pc.wrapping_add(u64::from(app));
        let context = self.form.exit_context();
        let form = &mut self.form;
        let record = ppin_lower::trap::lower(form, pc, Trap::RseqUnsupported, context);
        form.gone(&[record]);
    }

    /// `ins` is translated on its own, outside.
    fn leave(&mut self, index: usize, ins: &Ins) {
        self.emitter.belongs_to(ins.offset);
        self.at[index] = self.emitter.hot.here();
        let reached = index.checked_sub(1).and_then(|before| self.ins.get(before));
        let context = match reached {
            Some(before) if before.kind.is_plain() => end_context(&self.form, before, self.tool),
            _ => self.form.exit_context(),
        };
        self.emitter.exit_jump(ExitTo {
            target: ins.pc(),
            context,
        });
        if self.is_last(ins) {
            self.end();
        }
    }

    /// To what follows the sequence.
    fn go_on(&mut self) {
        let Some(last) = self.ins.last() else { return };
        if last.kind.falls_through() {
            let exit = ExitTo {
                target: self.sequence.end,
                context: end_context(&self.form, last, self.tool),
            };
            self.emitter.exit_jump(exit);
        }
    }

    fn finish(mut self, state: &InSequence) -> SequenceCode {
        for (field, target) in core::mem::take(&mut self.emitter.branches) {
            let at = RelocKind::Hot(self.at[target]);
            self.emitter.relocate_hot_at(field, 4, at);
        }
        let len = self.request.bytes.len() as u32;
        let fragment = self.emitter.finish(len, self.ins.len() as u32);
        SequenceCode {
            fragment,
            range: self.range,
            abort: state.abort,
            descriptor: state.slots.descriptor,
            expected: state.slots.expected,
        }
    }
}
