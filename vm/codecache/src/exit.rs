//! A direct exit of code in the cache.

use ppin_abi::addr::{AppPc, ImageBase};
use ppin_abi::context::Context;
use ppin_abi::record::stub;
use ppin_relocator::Exit;

/// A direct exit of code in the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownExit {
    /// Where the app goes.
    pub target: AppPc,
    /// The context it goes there with.
    pub context: Context,
    /// Cache address of its branch's field.
    pub branch: u64,
    /// Address of its slot.
    pub slot: u64,
    /// Where its code is kept.
    pub of: CodeOf,
}

/// Where code is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeOf {
    /// Made since the last flush.
    Fresh,
    /// Flushed.
    Retired,
    /// In a unit.
    Unit,
}

impl KnownExit {
    /// `exit` of a fragment for an image at `base`: its hot code lies at `hot`, and the slot of the exit at `slot`.
    pub(crate) fn new(exit: &Exit, base: ImageBase, (hot, slot): (u64, u64), of: CodeOf) -> Self {
        Self {
            target: exit.target.at(base),
            context: exit.context,
            branch: hot + u64::from(exit.branch),
            slot,
            of,
        }
    }
}

/// Number of the exit, one of so many, whose stub lies `offset` bytes behind the first.
pub(crate) fn number_at(offset: u64, exits: usize) -> Option<usize> {
    stub::number(u32::try_from(offset).ok()?, exits)
}
