//! `icount`: how many instructions the program executes, in total and by thread.
//!
//! An instruction that faults is not counted; one with a REP prefix counts once,
//! however often it repeats.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

use ppin_sdk::prelude::*;
use ppin_sdk::report;

/// The counter that all instructions add to.
const INSTRUCTIONS: u32 = 0;

/// The tool.
#[derive(Clone, Copy, Default, Debug)]
pub struct Icount;

impl Icount {
    /// Its name, summary and knobs.
    pub const ABOUT: About = About {
        name: "icount",
        summary: "counts executed instructions",
        knobs: &[],
    };
}

impl Tool for Icount {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn global_counters(&self) -> u32 {
        1
    }

    /// The additions of a block are merged into one, so there is no need to count
    /// by blocks here.
    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            ins.insert_count(IPoint::Anywhere, Counter::Global(INSTRUCTIONS), 1)
                .expect("every instruction can be counted");
        }
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        let _ = report::count(self, host, report, "instructions", INSTRUCTIONS);
    }
}

#[cfg(test)]
mod tests;
