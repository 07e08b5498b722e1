//! Blocks.

use super::ins::Ins;
use super::sight::Sight;
use ppin_abi::addr::AppPc;

/// A block: ends at a control transfer or a system call, or where the trace does.
#[derive(Clone, Copy)]
pub struct Bbl<'t> {
    sight: &'t Sight<'t>,
    start: usize,
    end: usize,
}

impl<'t> Bbl<'t> {
    /// The block that begins with instruction `start`.
    pub(super) fn at(sight: &'t Sight<'t>, start: usize) -> Option<Self> {
        let count = sight.source.count();
        let ends = |index: &usize| sight.source.category(*index).ends_block();
        let last = (start..count).find(ends);
        (start < count).then(|| Self {
            sight,
            start,
            end: last.map_or(count, |last| last + 1),
        })
    }

    /// Index of the instruction behind it.
    pub(super) const fn end(&self) -> usize {
        self.end
    }

    /// App address of its first instruction.
    #[must_use]
    pub fn pc(&self) -> AppPc {
        self.first().pc()
    }

    /// Whether it goes on with a block that an earlier trace began: it is then no
    /// new block. Known only to tools that ask for it
    /// ([`crate::Tool::distinguishes_blocks`]).
    #[must_use]
    pub fn is_continuation(&self) -> bool {
        self.start == 0 && self.sight.continues
    }

    /// Its first instruction.
    #[must_use]
    pub fn first(&self) -> Ins<'t> {
        Ins::new(self.sight, self.start)
    }

    /// Its instructions, in order; at least one.
    pub fn ins(&self) -> impl Iterator<Item = Ins<'t>> + use<'t> {
        let sight = self.sight;
        (self.start..self.end).map(move |index| Ins::new(sight, index))
    }
}
