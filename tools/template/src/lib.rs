//! `my-tool`: conditional branches, taken and not. A complete tool, to be changed.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

use ppin_sdk::knobs::Knobs;
use ppin_sdk::number::{Grouped, Share};
use ppin_sdk::prelude::*;
use ppin_sdk::report;

const BRANCHES: Counter = Counter::Global(0);
const NOT_TAKEN: Counter = Counter::Global(1);

const KNOBS: &[Knob] = &[Knob {
    name: "backward-only",
    default: "off",
    help: "count only branches to lower addresses, as loops end with",
    changes_code: true, // it decides what is inserted
    writes_file: false,
}];

/// The tool, with its knob as it was given.
#[derive(Debug, Default)]
pub struct MyTool {
    backward_only: bool,
}

impl MyTool {
    /// Name, summary and knobs, for `ppin tool doc` too.
    pub const ABOUT: About = About {
        name: "my-tool",
        summary: "counts conditional branches, taken and not",
        knobs: KNOBS,
    };
}

ppin_sdk::tool!(MyTool);

impl Tool for MyTool {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn configure(&mut self, given: &[(&str, &str)]) -> Result<(), String> {
        let knobs = Knobs::new(&Self::ABOUT, given)?;
        self.backward_only = knobs.switch("backward-only")?;
        Ok(())
    }

    fn global_counters(&self) -> u32 {
        2
    }

    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            let backward = ins.branch_target() < Some(ins.pc());
            if ins.category() == Category::ConditionalBranch && (backward || !self.backward_only) {
                // What can be refused is said with `insert_count`; these never are.
                ins.insert_count(IPoint::Before, BRANCHES, 1).unwrap();
                ins.insert_count(IPoint::After, NOT_TAKEN, 1).unwrap();
            }
        }
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        let whole = host.global_total(0);
        let part = whole - host.global_total(1);
        // If the report cannot be written there is nobody to tell.
        let _ = match report.format() {
            Format::Human => {
                let (part, share) = (Grouped(part), Share { part, whole });
                let text =
                    format_args!("  {part} of {} branches taken ({share})\n", Grouped(whole));
                report::human(self, host, report, text)
            }
            Format::Json => report::json(self, host, report, |o| {
                o.field("branches", whole)?;
                o.field("taken", part)
            }),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppin_testing::{Process, Sample};

    // A tool is tried without a program: a sample is executed once, no branch is taken.
    #[test]
    fn branches_that_fall_through_are_not_taken() {
        let backward_then_forward = Sample::new(&[0x74, 0x80, 0x75, 0x10, 0xc3]); // je jne ret
        let mut tool = MyTool::default();
        let process = Process::new();
        process.run(&tool, &backward_then_forward);
        let text = ppin_testing::report(&tool, &process, Format::Human);
        assert!(text.ends_with("  0 of 2 branches taken (0.00 %)\n\n"));

        tool.configure(&[("backward-only", "on")]).unwrap();
        let process = Process::new();
        process.run(&tool, &backward_then_forward);
        let text = ppin_testing::report(&tool, &process, Format::Json);
        assert!(text.contains(r#""branches":1,"taken":0}"#));
    }
}
