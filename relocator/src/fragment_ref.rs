//! A borrowed fragment, for owners that keep its parts elsewhere than in vectors.

use crate::Start;
use crate::fragment::{CountRow, Exit, Fragment, Reloc, SlotInit};
use crate::pc_map::PcMap;
use crate::shape::Shape;
use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;

/// A view of a [`Fragment`]; the fields mean the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FragmentRef<'a> {
    /// First app instruction.
    pub head: ImageOff,
    /// Static context that it assumes on entry.
    pub context: Context,
    /// App bytes it was made from, from `head` on.
    pub source_len: u32,
    /// Of these, the last, which lie behind the trace.
    pub beyond: u32,
    /// App instructions in it.
    pub instructions: u32,
    /// Which of its branches it follows.
    pub shape: Shape,
    /// Hot offset where it is entered.
    pub entry: u8,
    /// Code. The contents of relocated fields do not matter.
    pub hot: &'a [u8],
    /// Rare code and records. The contents of relocated fields do not matter.
    pub cold: &'a [u8],
    /// Initial contents of its slots, but for those of exits.
    pub slots: &'a [SlotInit],
    /// What depends on placement, but for the branches of exits.
    pub relocs: &'a [Reloc],
    /// Direct exits.
    pub exits: &'a [Exit],
    /// From hot offset to app instruction.
    pub pc_map: &'a PcMap,
    /// Counter additions.
    pub counts: &'a [CountRow],
}

impl FragmentRef<'_> {
    /// At which addresses its hot code may begin; `nth` is the number of fragments before it at which
    /// threads arrive by indirect branches.
    #[must_use]
    pub const fn start(&self, nth: usize) -> Start {
        Start::of_hot(self.entry, nth)
    }
}

impl<'a> From<&'a Fragment> for FragmentRef<'a> {
    fn from(fragment: &'a Fragment) -> Self {
        Self {
            head: fragment.head,
            context: fragment.context,
            source_len: fragment.source_len,
            beyond: fragment.beyond,
            instructions: fragment.instructions,
            shape: fragment.shape,
            entry: fragment.entry,
            hot: &fragment.hot,
            cold: &fragment.cold,
            slots: &fragment.slots,
            relocs: &fragment.relocs,
            exits: &fragment.exits,
            pc_map: &fragment.pc_map,
            counts: &fragment.counts,
        }
    }
}
