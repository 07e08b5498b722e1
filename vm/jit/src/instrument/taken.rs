//! What is inserted where a conditional branch is taken.
//!
//! ```text
//! jcc exit                                     jcc aside
//! ...                                          ...
//!                           becomes     aside: counts, calls
//!                                              jmp exit
//! ```
//! Records are appended by a call, calls follow. Nothing of it is in the way of who goes on behind the
//! branch. What blocks before the branch count may be among the counts ([`super::join`]).

use super::append;
use super::calls::Calls;
use super::colour::Colours;
use super::count;
use super::join::Due;
use super::merge::Group;
use alloc::vec::Vec;
use ppin_abi::counters::Cells;
use ppin_api::compiler::{AppendInsertion, CountInsertion, Insertions};
use ppin_decode::{Ins, Kind};
use ppin_form::{Form, InsId, Op, RegSet};

/// What a tool has inserted for taken branches, taken out of `inserted`. (What is none is never taken.)
pub(super) fn split(inserted: &mut Insertions, ins: &[Ins]) -> Insertions {
    let branches = |index: u32| is_branch(&ins[index as usize]);
    let counts = inserted.counts.extract_if(.., |count| count.taken);
    let calls = inserted.calls.extract_if(.., |call| call.taken);
    let appends = inserted.appends.extract_if(.., |record| record.taken);
    Insertions {
        counts: counts.filter(|count| branches(count.ins)).collect(),
        calls: calls.filter(|call| branches(call.ins)).collect(),
        appends: appends.filter(|record| branches(record.ins)).collect(),
    }
}

const fn is_branch(ins: &Ins) -> bool {
    matches!(ins.kind, Kind::CondJump | Kind::ShortJump)
}

/// What is done where branches are taken.
#[derive(Default)]
pub(super) struct Taken {
    /// In order of their place.
    pub dues: Vec<Due>,
    pub calls: Calls,
    /// Records, which are appended by a call.
    pub appends: Vec<AppendInsertion>,
}

impl Taken {
    /// Whether there is nothing to do (any more).
    pub(super) fn is_empty(&self) -> bool {
        self.dues.is_empty() && self.calls.is_done() && self.appends.is_empty()
    }

    /// Whether there is nothing to do at instruction `at` and behind it, and nothing but counting before it.
    pub(super) fn only_counts_before(&self, at: u32) -> bool {
        let counts = self.dues.last().is_none_or(|due| due.ins < at);
        counts && self.calls.is_done() && self.appends.is_empty()
    }

    /// Adds `counts`, beside what is due there already.
    pub(super) fn add(&mut self, counts: &[CountInsertion], ins: &[Ins], colours: &mut Colours) {
        for count in counts {
            let due = self.dues.iter().position(|due| due.ins == count.ins);
            let at = due.unwrap_or_else(|| {
                let colour = colours.choose(ins[count.ins as usize].next());
                self.dues.push(Due {
                    ins: count.ins,
                    group: Group::without_flags(colour),
                });
                self.dues.len() - 1
            });
            self.dues[at].group.add_aside(count);
        }
        self.dues.sort_by_key(|due| due.ins);
    }

    /// Writes the branch `ins` itself, if something is done where it leads: it goes on by `exit`.
    pub(super) fn branch(
        &mut self,
        form: &mut Form,
        (id, ins): (InsId, &Ins),
        cells: Cells,
        exit: Op,
    ) -> bool {
        let number = u32::from(id.0);
        let due = self.dues.iter().find(|due| due.ins == number);
        let told = self.appends.iter().filter(|record| record.ins == number);
        let any = due.is_some() || self.calls.are_behind(number) || told.clone().next().is_some();
        if !is_branch(ins) || !any {
            return false;
        }
        let to = form.label();
        form.push(Op::IfTaken { ins: id, to });
        let calls = &mut self.calls;
        form.aside(id, |form| {
            form.place(to, &[]);
            if let Some(due) = due {
                count::lower(form, &due.group, cells, RegSet::NONE);
            }
            told.for_each(|record| append(form, id, record));
            calls.insert(form, id, true, RegSet::ANY);
            if due.is_some_and(|due| due.group.flags_dead) {
                form.push(Op::FlagsDie { ins: id });
            }
            form.push(exit);
        });
        true
    }
}
