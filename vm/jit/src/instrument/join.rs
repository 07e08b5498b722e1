//! Counts of several blocks, added at once.
//!
//! A block need not add what it counts: the next one may do it, if each way between them does so, too. So
//! a branch out of the trace goes by way of an addition that stands aside. It takes a register if flags may
//! be alive where the branch leads.
//!
//! ```text
//! add gs:[counter], 1                   block 1
//! jcc exit                              jcc aside
//! add gs:[counter], 1                   block 2
//! ...                       becomes     add gs:[counter], 2
//!                                       ...
//!                                aside: add gs:[counter], 1
//!                                       jmp exit
//! ```
//! Count rows tell the VM what each instruction counts, wherever it is added. A branch back is taken more
//! often than not: what has been counted before it is added before it.

use super::merge::{Addition, Group};
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::optimize::Optimize;
use ppin_decode::{Ins, Kind};
use ppin_form::RegSet;
use ppin_liveness::beyond::Beyond;
use ppin_liveness::registers::overwritten;

/// What is added where a branch is taken.
pub(super) struct Due {
    /// Index of the branch.
    pub ins: u32,
    pub group: Group,
}

/// Joins blocks, one after the other.
pub(super) struct Joining<'a> {
    /// The code that branches lead to.
    beyond: Beyond<'a>,
    optimize: Optimize,
    /// What is left to the next block.
    waiting: Option<Group>,
    pub dues: Vec<Due>,
}

impl<'a> Joining<'a> {
    /// Of the trace before whose end `beyond` begins.
    pub(super) const fn new(beyond: Beyond<'a>, optimize: Optimize) -> Self {
        Self {
            beyond,
            optimize,
            waiting: None,
            dues: Vec::new(),
        }
    }

    /// How far was looked, in bytes from the head.
    pub(super) const fn looked(&self) -> u32 {
        self.beyond.looked()
    }

    /// Adds in `group` what the blocks before it have left to it.
    pub(super) fn take_over(&mut self, group: &mut Group) {
        if let Some(before) = self.waiting.take() {
            group.absorb(before);
        }
    }

    /// Leaves what `group` counts in a `block` to the `next`, if that is right and worth it; else gives
    /// it back.
    pub(super) fn leave(
        &mut self,
        group: Group,
        ins: &[Ins],
        (block, next): (Range<usize>, Range<usize>),
        live: &[u32],
    ) -> Option<Group> {
        let branch = block.end - 1;
        let cost = |block| Cost::of(block, ins, live);
        let leaves = leaves(&ins[branch]) && self.can_be_aside(&group);
        let can_wait = !next.is_empty() && (leaves || ins[branch].is_nothing());
        if !can_wait || cost(next) > cost(block) {
            return Some(group);
        }
        if ins[branch].is_nothing() {
            self.waiting = Some(group);
            return None;
        }
        let flags_dead = self.beyond.flags_die(ins[branch].leaves_to());
        self.dues.push(Due {
            ins: branch as u32,
            group: group.aside(flags_dead),
        });
        self.waiting = Some(group);
        None
    }

    /// Whether counters of the image, if any, are added to by one instruction.
    fn can_be_aside(&self, group: &Group) -> bool {
        let bundled = self.optimize.has(Optimize::BUNDLES);
        bundled || !group.additions.iter().any(Addition::is_image)
    }
}

/// Whether `ins` is a branch out of the trace that is not a loop's, which would be taken more often than
/// not. (What is rare may lie before all functions.)
fn leaves(ins: &Ins) -> bool {
    /// Most bytes of a loop.
    const LOOP: i64 = 4096;
    let distance = ins.leaves_to().0.wrapping_sub(ins.pc().0).cast_signed();
    ins.kind == Kind::CondJump && !(-LOOP..=0).contains(&distance)
}

/// What an addition takes in a block.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Cost {
    /// One instruction.
    Flags,
    /// A register that the app is about to overwrite.
    Register,
    /// A register that must be kept.
    Kept,
}

impl Cost {
    fn of(block: Range<usize>, ins: &[Ins], live: &[u32]) -> Self {
        if live[block.clone()].contains(&0) {
            return Self::Flags;
        }
        let free = ins[block]
            .iter()
            .any(|ins| overwritten(ins) != RegSet::NONE);
        if free { Self::Register } else { Self::Kept }
    }
}
