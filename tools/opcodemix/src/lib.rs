//! `opcodemix`: which instructions the program executes, by opcode, image by image.
//!
//! Each image has a counter for each opcode; the totals are their sums, so an
//! instruction costs one addition at most, as with `icount`.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod mix;

use mix::Mix;
use ppin_sdk::knobs::Knobs;
use ppin_sdk::prelude::*;
use ppin_sdk::report;

const KNOBS: &[Knob] = &[Knob {
    name: "top",
    default: "20",
    help: "opcodes listed for each image in a report for people; 0: all",
    changes_code: false,
    writes_file: false,
}];

/// The tool.
#[derive(Clone, Copy, Default, Debug)]
pub struct Opcodemix {
    /// Opcodes listed for each image; `None`: all.
    top: Option<usize>,
}

impl Opcodemix {
    /// Its name, summary and knobs.
    pub const ABOUT: About = About {
        name: "opcodemix",
        summary: "counts executed instructions by opcode, for each image",
        knobs: KNOBS,
    };
}

impl Tool for Opcodemix {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn configure(&mut self, given: &[(&str, &str)]) -> Result<(), String> {
        let top = Knobs::new(&Self::ABOUT, given)?.number("top")?;
        self.top = usize::try_from(top).ok().filter(|&top| top > 0);
        Ok(())
    }

    fn image_counters(&self) -> u32 {
        OPCODES
    }

    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            let counter = Counter::Image(ins.opcode().index());
            ins.insert_count(IPoint::Anywhere, counter, 1)
                .expect("there is a counter for every opcode");
        }
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        let mix = Mix::read(host);
        let _ = match report.format() {
            Format::Human => report::human(self, host, report, mix.human(self.top)),
            Format::Json => report::json(self, host, report, |o| mix.members(o)),
        };
    }
}

#[cfg(test)]
mod tests;
