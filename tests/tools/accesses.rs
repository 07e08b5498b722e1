//! `accesses`: a routine counts each access to memory, those to the line that was used last in its set in
//! line, all others behind a call. A counter counts instructions beside it.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

use ppin_sdk::prelude::*;
use ppin_sdk::report;

const LINE: u64 = 64;
const SETS: usize = 64;

/// What is counted: for reads, and for writes.
#[derive(Clone, Copy)]
pub struct Lines {
    last: [u64; SETS],
    same: [u64; 2],
    others: [u64; 2],
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            last: [u64::MAX; SETS],
            same: [0; 2],
            others: [0; 2],
        }
    }
}

impl Merge for Lines {
    fn merge(&mut self, other: &Self) {
        for kind in 0..2 {
            self.same[kind] += other.same[kind];
            self.others[kind] += other.others[kind];
        }
    }
}

impl Lines {
    #[cold]
    #[inline(never)]
    fn other(&mut self, line: u64, kind: usize) {
        self.last[line as usize % SETS] = line;
        self.others[kind % 2] += 1;
    }
}

extern "C" fn access(lines: &mut Lines, address: u64, kind: usize) {
    let line = address / LINE;
    if lines.last[line as usize % SETS] == line {
        let same = &mut lines.same[kind % 2];
        *same = same.wrapping_add(1);
    } else {
        lines.other(line, kind);
    }
}

const LINES: StateId = StateId(0);

/// The tool.
#[derive(Default)]
pub struct Accesses;

impl Accesses {
    /// What it says of itself.
    pub const ABOUT: About = About {
        name: "accesses",
        summary: "counts accesses to memory",
        knobs: &[],
    };
}

impl Tool for Accesses {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn global_counters(&self) -> u32 {
        1
    }

    fn states(&self) -> &'static [State] {
        const STATES: &[State] = &[State::of::<Lines>("lines")];
        STATES
    }

    fn routines(&self) -> &'static [Routine] {
        const ROUTINES: &[Routine] = &[Routine::of(
            "access",
            &(access as extern "C" fn(&mut Lines, _, _)),
        )];
        ROUTINES
    }

    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            ins.insert_count(IPoint::Before, Counter::Global(0), 1)
                .expect("there is one");
            for (n, operand) in ins.memory_operands().iter().enumerate() {
                if !operand.has_address() {
                    continue;
                }
                let kind = Arg::Const(u64::from(operand.access.writes()));
                let args = [Arg::State(LINES), Arg::MemoryEa(n), kind];
                ins.insert_call(IPoint::Before, RoutineId(0), &args)
                    .expect("there is one");
            }
        }
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        let lines: Box<Lines> = host.state(LINES);
        let [reads, writes] = [0, 1].map(|kind| lines.same[kind] + lines.others[kind]);
        let _ = report::json(self, host, report, |o| {
            o.field("reads", reads)?;
            o.field("writes", writes)?;
            o.field("instructions", host.global_total(0))
        });
    }
}

#[cfg(not(test))]
ppin_sdk::tool!(Accesses);
