//! Merging the counts of each block.

use super::colour::Colours;
use super::join::Joining;
use super::jumps::Jumps;
use alloc::vec::Vec;
use core::iter::Peekable;
use core::ops::Range;
use ppin_api::Counter;
use ppin_api::compiler::CountInsertion;
use ppin_decode::{Ins, Kind};
use ppin_form::RegSet;
use ppin_liveness::registers::overwritten;
use ppin_relocator::CountRow;

/// Additions made at one place.
#[derive(Default)]
pub(super) struct Group {
    /// Index of the instruction before or behind which they are made.
    pub ins: u32,
    pub after: bool,
    /// Whether no arithmetic flag is alive there.
    pub flags_dead: bool,
    /// Registers that need not be kept there.
    pub free: RegSet,
    /// Whether it is for the way from a branch to here, and not for what follows.
    pub way_in: bool,
    /// Which of their cells the global counters are added to in.
    pub colour: u32,
    pub additions: Vec<Addition>,
}

/// One addition to one counter.
pub(super) struct Addition {
    pub counter: Counter,
    pub total: i32,
    /// What it pays.
    pub first: Part,
    /// And what else: nothing, as a rule, if blocks are counted.
    pub more: Vec<Part>,
}

/// A part of an addition.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// The instruction that it belongs to, in bytes from the head; or [`CountRow::ASIDE`].
    pub app: u32,
    pub amount: u32,
}

impl Addition {
    /// Whether it is made to a counter of the image.
    pub(super) const fn is_image(&self) -> bool {
        matches!(self.counter, Counter::Image(_))
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = Part> {
        core::iter::once(self.first).chain(self.more.iter().copied())
    }
}

/// The groups for `counts`, one for each block that has any, or for several of them if they are joined.
/// `live`: the flags alive before each instruction.
pub(super) fn groups(
    counts: &[CountInsertion],
    ins: &[Ins],
    live: &[u32],
    mut colours: Colours,
    jumps: &Jumps,
    mut joining: Option<&mut Joining<'_>>,
) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut counts = in_order(counts, ins);
    let mut block = block_at(0, ins, jumps);
    while !block.is_empty() {
        let (start, next) = (block.start, block_at(block.end, ins, jumps));
        if jumps.leave_before(start) {
            groups.extend(way_in(&mut counts, ins, start, &mut colours));
        }
        let mut group = Group::default();
        if let Some(joining) = &mut joining {
            joining.take_over(&mut group);
        }
        group.collect(&mut counts, ins, block.end);
        if !group.additions.is_empty() {
            group.colour = colours.choose(ins[start].pc());
            let here = (block.clone(), next.clone());
            let stays = match &mut joining {
                Some(joining) => joining.leave(group, ins, here, live),
                None => Some(group),
            };
            if let Some(mut group) = stays {
                group.place(live, ins, block);
                groups.push(group);
            }
        }
        block = next;
    }
    groups.extend(behind_the_end(&mut counts, ins, &mut colours));
    groups
}

/// The instructions of the block that begins with `start`; none, if that is the end.
fn block_at(start: usize, ins: &[Ins], jumps: &Jumps) -> Range<usize> {
    let ends = |index: &usize| ins[*index].kind.ends_block() || jumps.leave_before(index + 1);
    let last = (start..ins.len()).find(ends);
    start..last.map_or(ins.len(), |last| last + 1)
}

/// Counts that are still to be merged, each with the instruction with which it runs.
type Rest<'a> = Peekable<alloc::vec::IntoIter<(usize, &'a CountInsertion)>>;

/// `counts` in the order in which they run; those that run together, in their own.
fn in_order<'a>(counts: &'a [CountInsertion], ins: &[Ins]) -> Rest<'a> {
    let entry = |count: &'a CountInsertion| (block_entry(count, ins), count);
    let mut counts: Vec<_> = counts.iter().map(entry).collect();
    counts.sort_by_key(|(entry, _)| *entry);
    counts.into_iter().peekable()
}

/// The instruction with which a count runs: itself, or behind a branch the next.
fn block_entry(count: &CountInsertion, ins: &[Ins]) -> usize {
    let index = count.ins as usize;
    let branch = ins
        .get(index)
        .is_some_and(|ins| matches!(ins.kind, Kind::CondJump | Kind::ShortJump));
    index + usize::from(count.after && branch)
}

/// Counts behind a branch, before instruction `start`, where the app may be led away.
fn way_in(
    counts: &mut Rest<'_>,
    ins: &[Ins],
    start: usize,
    colours: &mut Colours,
) -> Option<Group> {
    let mut group = Group {
        ins: start as u32,
        way_in: true,
        ..Group::default()
    };
    let here = |(entry, count): &(usize, &CountInsertion)| *entry == start && count.after;
    while let Some((_, count)) = counts.next_if(here) {
        group.add(count, ins[count.ins as usize].offset);
    }
    group.colour = colours.choose(ins[start].pc());
    (!group.additions.is_empty()).then_some(group)
}

/// Counts behind a branch that is the last instruction.
fn behind_the_end(counts: &mut Rest<'_>, ins: &[Ins], colours: &mut Colours) -> Option<Group> {
    let last = ins.last()?;
    let mut group = Group {
        ins: ins.len() as u32 - 1,
        after: true,
        ..Group::default()
    };
    group.collect(counts, ins, usize::MAX);
    if group.additions.is_empty() {
        return None;
    }
    group.colour = colours.choose(last.next());
    Some(group)
}

impl Group {
    /// Chooses the cheapest place in a block that has nothing in it yet: where no flag is alive and
    /// a register need not be kept, if one is needed; else where no flag is; else where no register
    /// is.
    fn place(&mut self, live: &[u32], ins: &[Ins], block: Range<usize>) {
        let dead = |index: &usize| live[*index] == 0;
        let free = |index: &usize| overwritten(&ins[*index]) != RegSet::NONE;
        let needs_base = self.additions.iter().any(Addition::is_image);
        let both = || block.clone().find(|index| dead(index) && free(index));
        let found = needs_base.then(both).flatten();
        let found = found.or_else(|| block.clone().find(dead));
        let found = found.or_else(|| block.clone().find(free));
        let at = found.unwrap_or(block.start);
        self.ins = at as u32;
        self.flags_dead = dead(&at);
        self.free = overwritten(&ins[at]);
    }

    /// Adds all of `counts` that run before instruction `end`.
    fn collect(&mut self, counts: &mut Rest<'_>, ins: &[Ins], end: usize) {
        while let Some((_, count)) = counts.next_if(|(entry, _)| *entry < end) {
            self.add(count, ins[count.ins as usize].offset);
        }
    }

    /// Joins an addition to the same counter, as long as its sum fits an immediate.
    fn add(&mut self, count: &CountInsertion, app: u32) {
        let part = Part {
            app,
            amount: count.amount,
        };
        self.join(Addition {
            counter: count.counter,
            total: count.amount as i32,
            first: part,
            more: Vec::new(),
        });
    }

    /// All that is added in `earlier` is added here.
    pub(super) fn absorb(&mut self, earlier: Self) {
        for addition in earlier.additions {
            self.join(addition);
        }
    }

    /// None yet, where flags may be alive.
    pub(super) fn without_flags(colour: u32) -> Self {
        Self {
            colour,
            ..Self::default()
        }
    }

    /// Adds `count` where all that it pays for has run.
    pub(super) fn add_aside(&mut self, count: &CountInsertion) {
        self.add(count, CountRow::ASIDE);
    }

    /// The same additions where a branch leaves the trace: all that they pay for has run.
    pub(super) fn aside(&self, flags_dead: bool) -> Self {
        let aside = |addition: &Addition| Addition {
            counter: addition.counter,
            total: addition.total,
            first: Part {
                app: CountRow::ASIDE,
                amount: addition.total.cast_unsigned(),
            },
            more: Vec::new(),
        };
        Self {
            flags_dead,
            colour: self.colour,
            additions: self.additions.iter().map(aside).collect(),
            ..Self::default()
        }
    }

    fn join(&mut self, new: Addition) {
        let same = self.additions.iter_mut().find(|addition| {
            addition.counter == new.counter && addition.total.checked_add(new.total).is_some()
        });
        match same {
            Some(addition) => {
                addition.total += new.total;
                addition.more.push(new.first);
                addition.more.extend(new.more);
            }
            None => self.additions.push(new),
        }
    }
}
