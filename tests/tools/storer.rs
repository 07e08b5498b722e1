//! `storer`: puts what is in r15 into the memory of programs, at the operand of `rcl` before it, and where
//! rdi points behind `rcr`. Compilers use neither.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

use ppin_sdk::prelude::*;
use ppin_sdk::report;

/// How often each routine was called.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    before: u64,
    behind: u64,
}

impl Merge for Counts {
    fn merge(&mut self, other: &Self) {
        self.before += other.before;
        self.behind += other.behind;
    }
}

extern "C" fn before(counts: &mut Counts, value: u64) -> u64 {
    counts.before += 1;
    value
}

extern "C" fn behind(counts: &mut Counts, value: u64) -> u64 {
    counts.behind += 1;
    value
}

const ARGS: [Arg; 2] = [Arg::State(StateId(0)), Arg::Reg(Reg::R15)];
const BEFORE: RoutineId = RoutineId(0);
const BEHIND: RoutineId = RoutineId(1);

#[derive(Debug, Default)]
pub struct Storer;

impl Storer {
    pub const ABOUT: About = About {
        name: "storer",
        summary: "changes memory",
        knobs: &[],
    };
}

ppin_sdk::tool!(Storer);

impl Tool for Storer {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn states(&self) -> &'static [State] {
        const STATES: &[State] = &[State::of::<Counts>("counts")];
        STATES
    }

    fn routines(&self) -> &'static [Routine] {
        const ALL: &[Routine] = &[
            Routine::of("before", &(before as extern "C" fn(&mut Counts, u64) -> u64)),
            Routine::of("behind", &(behind as extern "C" fn(&mut Counts, u64) -> u64)),
        ];
        ALL
    }

    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            let done = match ins.opcode().name() {
                "rcl" => ins.insert_store(IPoint::Before, Arg::MemoryEa(0), 4, BEFORE, &ARGS),
                "rcr" => ins.insert_store(IPoint::After, Arg::Reg(Reg::Rdi), 4, BEHIND, &ARGS),
                _ => Ok(()),
            };
            done.unwrap();
        }
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        let counts = host
            .merged(StateId(0))
            .and_then(|copy| copy.into_any().downcast().ok());
        let counts: Counts = counts.map_or_else(Counts::default, |counts| *counts);
        let _ = report::json(self, host, report, |o| {
            o.field("before", counts.before)?;
            o.field("behind", counts.behind)
        });
    }
}
