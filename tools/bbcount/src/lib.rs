//! `bbcount`: how many basic blocks the program enters, in total and by thread.
//!
//! A block begins at the program's first instruction and after every control
//! transfer or system call, taken or not. Where a trace merely reached its limit, or
//! a signal came between, the block goes on and is not counted again: so the count
//! does not depend on how the program was cut into traces.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

use ppin_sdk::prelude::*;
use ppin_sdk::report;

/// The counter that all blocks add to.
const BLOCKS: u32 = 0;

/// The tool.
#[derive(Clone, Copy, Default, Debug)]
pub struct Bbcount;

impl Bbcount {
    /// Its name, summary and knobs.
    pub const ABOUT: About = About {
        name: "bbcount",
        summary: "counts basic blocks entered",
        knobs: &[],
    };
}

impl Tool for Bbcount {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn distinguishes_blocks(&self) -> bool {
        true
    }

    fn global_counters(&self) -> u32 {
        1
    }

    fn instrument(&self, trace: &Trace<'_>) {
        for bbl in trace.bbls().filter(|bbl| !bbl.is_continuation()) {
            bbl.first()
                .insert_count(IPoint::Before, Counter::Global(BLOCKS), 1)
                .expect("every instruction can be counted");
        }
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        let _ = report::count(self, host, report, "blocks", BLOCKS);
    }
}

#[cfg(test)]
mod tests;
