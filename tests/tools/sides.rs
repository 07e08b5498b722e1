//! `sides`: counts conditional branches, those that are not taken, and those that are: by a counter, by
//! calls, and by records.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

use core::sync::atomic::{AtomicU64, Ordering};
use ppin_sdk::prelude::*;
use ppin_sdk::report;

ppin_sdk::record! {
    /// A branch that was taken.
    struct Way {
        from: u64,
        to: u64,
    }
}

/// Calls where branches are taken.
#[derive(Clone, Copy, Default)]
pub struct Taken {
    calls: u64,
    /// Of these, the backward ones.
    back: u64,
}

impl Merge for Taken {
    fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.back += other.back;
    }
}

extern "C" fn taken(taken: &mut Taken, from: u64, to: u64) {
    taken.calls += 1;
    if to < from {
        taken.back += 1;
    }
}

const ALL: Counter = Counter::Global(0);
const BEHIND: Counter = Counter::Global(1);
const TAKEN: Counter = Counter::Global(2);

#[derive(Debug, Default)]
pub struct Sides {
    /// Records so far.
    recorded: AtomicU64,
    /// Of these, those that lead back.
    recorded_back: AtomicU64,
}

impl Sides {
    pub const ABOUT: About = About {
        name: "sides",
        summary: "counts the sides of branches",
        knobs: &[],
    };
}

ppin_sdk::tool!(Sides);

impl Tool for Sides {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn global_counters(&self) -> u32 {
        3
    }

    fn states(&self) -> &'static [State] {
        const STATES: &[State] = &[State::of::<Taken>("taken")];
        STATES
    }

    fn routines(&self) -> &'static [Routine] {
        const ALL: &[Routine] = &[Routine::of(
            "taken",
            &(taken as extern "C" fn(&mut Taken, u64, u64)),
        )];
        ALL
    }

    fn buffers(&self) -> &'static [Buffer] {
        const WAYS: Buffer = Buffer::of::<Way>("ways");
        &[WAYS]
    }

    fn buffer_full(&self, _: &dyn Host, _: BufferId, _: ThreadId, records: &[u8]) {
        for record in records.chunks_exact(Way::SIZE as usize) {
            let way = Way::read(record).unwrap();
            self.recorded.fetch_add(1, Ordering::Relaxed);
            self.recorded_back.fetch_add((way.to < way.from).into(), Ordering::Relaxed);
        }
    }

    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            if ins.category() != Category::ConditionalBranch {
                continue;
            }
            let args = [Arg::State(StateId(0)), Arg::InsAddr, Arg::BranchTarget];
            let to = IPoint::TakenBranch;
            let all = ins.insert_count(IPoint::Before, ALL, 1);
            let behind = || ins.insert_count(IPoint::After, BEHIND, 1);
            let counted = || ins.insert_count(to, TAKEN, 1);
            let called = || ins.insert_call(to, RoutineId(0), &args);
            let recorded = || ins.append(to, BufferId(0), &args[1..]);
            let counts = all.and_then(|()| behind()).and_then(|()| counted());
            counts.and_then(|()| called()).and_then(|()| recorded()).unwrap();
        }
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        let calls = host
            .merged(StateId(0))
            .and_then(|copy| copy.into_any().downcast().ok());
        let calls: Taken = calls.map_or_else(Taken::default, |calls| *calls);
        let _ = report::json(self, host, report, |o| {
            o.field("all", host.global_total(0))?;
            o.field("behind", host.global_total(1))?;
            o.field("taken", host.global_total(2))?;
            o.field("called", calls.calls)?;
            o.field("back", calls.back)?;
            o.field("recorded", self.recorded.load(Ordering::Relaxed))?;
            o.field("recorded_back", self.recorded_back.load(Ordering::Relaxed))
        });
    }
}
