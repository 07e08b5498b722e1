//! `branches`: how often each conditional branch is taken.
//!
//! Each thread has a table of the branches that it has executed. The table has room for so many; of those that
//! meet in it, the one that was executed least makes room, and is counted among the others.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod sites;
mod table;

use ppin_sdk::knobs::Knobs;
use ppin_sdk::prelude::*;
use ppin_sdk::report;
use sites::Sites;
use table::Branches;

const TABLE: StateId = StateId(0);
/// Arguments: table, address of the branch, whether it is taken.
const PASSED: RoutineId = RoutineId(0);

const KNOBS: &[Knob] = &[Knob {
    name: "top",
    default: "20",
    help: "branches listed in a report for people; 0: all",
    changes_code: false,
    writes_file: false,
}];

/// The tool.
#[derive(Clone, Copy, Default, Debug)]
pub struct BranchCounts {
    /// Branches listed in a report for people; `None`: all.
    top: Option<usize>,
}

impl BranchCounts {
    /// Its name, summary and knobs.
    pub const ABOUT: About = About {
        name: "branches",
        summary: "counts how often each conditional branch is taken",
        knobs: KNOBS,
    };
}

impl Tool for BranchCounts {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn configure(&mut self, given: &[(&str, &str)]) -> Result<(), String> {
        let top = Knobs::new(&Self::ABOUT, given)?.number("top")?;
        self.top = usize::try_from(top).ok().filter(|&top| top > 0);
        Ok(())
    }

    fn states(&self) -> &'static [State] {
        const STATES: &[State] = &[State::of::<Branches>("branches")];
        STATES
    }

    fn routines(&self) -> &'static [Routine] {
        const ROUTINES: &[Routine] = &[Routine::of(
            "passed",
            &(passed as extern "C" fn(&mut Branches, _, _)),
        )];
        ROUTINES
    }

    fn instrument(&self, trace: &Trace<'_>) {
        let conditional = |ins: &Ins<'_>| ins.category() == Category::ConditionalBranch;
        for ins in trace.ins().filter(conditional) {
            for (point, taken) in [(IPoint::After, 0), (IPoint::TakenBranch, 1)] {
                let args = [Arg::State(TABLE), Arg::InsAddr, Arg::Const(taken)];
                // (`xbegin`, which never goes on, is refused; its image may lie too far for its address.)
                let _ = ins.insert_call(point, PASSED, &args);
            }
        }
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        let branches: Box<Branches> = host.state(TABLE);
        let sites = Sites::of(&branches, &host.images());
        let _ = match report.format() {
            Format::Human => report::human(self, host, report, sites.human(self.top)),
            Format::Json => report::json(self, host, report, |o| sites.members(o)),
        };
    }
}

extern "C" fn passed(branches: &mut Branches, pc: u64, taken: u64) {
    branches.pass(pc, taken);
}

#[cfg(test)]
mod tests;
