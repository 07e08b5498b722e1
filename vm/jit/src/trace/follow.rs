//! Traces that follow branches: they go on where a branch leads that is mostly taken.
//!
//! ```text
//!       je there                         jne behind, out of the trace
//! behind: ...                    becomes
//! there: ...                             ...                       what is there
//! ```
//! A jump that is followed becomes a `nop`. Only what lies ahead, among the bytes that a trace may look at, can be
//! gone on to: so the source of a trace is one stretch of bytes, with what it jumps over, and its instructions ascend.

use crate::request::Request;
use ppin_abi::addr::AppPc;
use ppin_decode::{Ins, InsReader, Kind};
use ppin_relocator::Shape;

/// A branch that a trace may follow, or does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Branch {
    /// Its number in the trace, as [`Shape`] has it.
    pub nth: usize,
    /// Where it stands.
    pub pc: AppPc,
    /// Whether it is taken always: a jump.
    pub always: bool,
}

/// The branches that a trace of these instructions may follow.
pub(crate) fn branches(ins: &[Ins]) -> impl Iterator<Item = Branch> {
    let all = ins.iter().filter(|ins| may_be_followed(ins));
    all.enumerate().take(Shape::MOST).map(|(nth, ins)| Branch {
        nth,
        pc: ins.pc(),
        always: ins.kind == Kind::Jump,
    })
}

const fn may_be_followed(ins: &Ins) -> bool {
    matches!(ins.kind, Kind::Jump | Kind::CondJump)
}

/// Follows branches while a trace is chosen.
pub(super) struct Follower {
    head: AppPc,
    wanted: Shape,
    done: Shape,
    /// Branches that have been passed.
    passed: usize,
}

impl Follower {
    pub(super) const fn new(request: &Request<'_>) -> Self {
        let may = request.context.is_ordinary() && request.sequences.is_empty();
        Self {
            head: request.pc,
            wanted: if may { request.shape } else { Shape::STRAIGHT },
            done: Shape::STRAIGHT,
            passed: 0,
        }
    }

    /// Goes on at the target of `ins`, if that is wanted and possible: what reads the trace's `bytes` from there on.
    pub(super) fn follow<'a>(&mut self, ins: &mut Ins, bytes: &'a [u8]) -> Option<InsReader<'a>> {
        if self.wanted.is_straight() || !may_be_followed(ins) {
            return None;
        }
        let nth = self.passed;
        self.passed += 1;
        let ahead = usize::try_from(ins.target().0.checked_sub(self.head.0)?).ok()?;
        let there = bytes.get(ahead..).filter(|there| !there.is_empty())?;
        if !self.wanted.follows(nth) || ahead < ins.end() as usize {
            return None;
        }
        ins.followed = true;
        self.done = self.done.with(nth);
        Some(InsReader::within(self.head, ahead as u32, there))
    }

    /// What the trace of `ins`, which is complete, follows. If it ends with a branch, there is nothing to go on to.
    pub(super) fn finish(mut self, ins: &mut [Ins]) -> Shape {
        if let Some(last) = ins.last_mut().filter(|last| last.followed) {
            last.followed = false;
            self.done = self.done.without(self.passed - 1);
        }
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::BytesEnd;
    use crate::trace::select;
    use alloc::vec::Vec;
    use ppin_abi::addr::{ImageBase, ImageRange};
    use ppin_abi::context::Context;
    use ppin_abi::optimize::Optimize;

    const HEAD: AppPc = AppPc(0x1000);

    /// Offsets of the instructions of the trace of `bytes`, and its shape.
    fn chosen(bytes: &[u8], shape: Shape, context: Context) -> (Vec<u32>, Shape, u32) {
        let selection = select(&Request {
            pc: HEAD,
            image: ImageBase(0x1000),
            context,
            bytes,
            end: BytesEnd::Limit,
            max_source: None,
            shape,
            sequences: &[],
            arrives: false,
            sealed: ImageRange::NONE,
            steady: false,
            optimize: Optimize::ALL,
            bodies: None,
        });
        let offsets = selection.ins.iter().map(|ins| ins.offset).collect();
        (offsets, selection.shape, selection.source_len)
    }

    /// 0: je 5; 2: nop; 3: jmp 0; 5: nop; 6: jmp 9; 8: nop; 9: ret
    const CODE: &[u8] = &[0x74, 3, 0x90, 0xeb, 0xfb, 0x90, 0xeb, 1, 0x90, 0xc3];

    #[test]
    fn a_trace_goes_on_where_its_shape_says() {
        let go = |bits| chosen(CODE, Shape(bits), Context::CANONICAL);
        assert_eq!(go(0), ([0, 2, 3].into(), Shape(0), 5));
        assert_eq!(go(1), ([0, 5, 6].into(), Shape(1), 8));
        assert_eq!(go(3), ([0, 5, 6, 9].into(), Shape(3), 10));
        // The jump back cannot be followed.
        assert_eq!(go(2), ([0, 2, 3].into(), Shape(0), 5));
    }

    #[test]
    fn nothing_is_followed_to_where_no_instruction_is() {
        // je 3; nop, and half an instruction
        let cut = &[0x74, 1, 0x90, 0x48];
        let (ins, shape, _) = chosen(cut, Shape(1), Context::CANONICAL);
        assert_eq!((&ins[..], shape), (&[0][..], Shape(0)));
        assert_eq!(chosen(&cut[..3], Shape(1), Context::CANONICAL).1, Shape(0));
    }

    #[test]
    fn code_that_may_be_rewritten_is_left_straight() {
        let (ins, shape, _) = chosen(CODE, Shape(3), Context::VOLATILE);
        assert_eq!((&ins[..], shape), (&[0, 2, 3][..], Shape(0)));
    }

    #[test]
    fn branches_are_numbered_as_the_shape_has_them() {
        let mut reader = InsReader::new(HEAD, CODE);
        let ins: Vec<Ins> = core::iter::from_fn(|| reader.read().ok()).collect();
        let all: Vec<_> = branches(&ins)
            .map(|b| (b.nth, b.pc.0 - HEAD.0, b.always))
            .collect();
        assert_eq!(all, [(0, 0, false), (1, 3, true), (2, 6, true)]);
    }
}
