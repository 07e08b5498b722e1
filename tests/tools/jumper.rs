//! `jumper`: leads programs away that ask for it, by a number in r14, and counts what they execute
//! all the same.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

use ppin_sdk::prelude::*;
use ppin_sdk::report;

const ASKS: u64 = 0xa5c5;

/// `target` for who asks, by an odd word.
extern "C" fn if_odd(asks: u64, word: u64, target: u64) -> u64 {
    if asks == ASKS && word & 1 != 0 { target } else { 0 }
}

const IF_ODD: RoutineId = RoutineId(0);
/// Instructions that may be left out, others that may be executed elsewhere, those behind which the
/// program may be led away, and what follows the first.
const NAMES: [&str; 4] = ["left_out", "elsewhere", "behind", "following"];

#[derive(Debug, Default)]
pub struct Jumper;

impl Jumper {
    pub const ABOUT: About = About {
        name: "jumper",
        summary: "leads away who asks for it",
        knobs: &[],
    };
}

ppin_sdk::tool!(Jumper);

impl Tool for Jumper {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn image_counters(&self) -> u32 {
        NAMES.len() as u32
    }

    fn routines(&self) -> &'static [Routine] {
        const ALL: &[Routine] = &[Routine::of(
            "if_odd",
            &(if_odd as extern "C" fn(u64, u64, u64) -> u64),
        )];
        ALL
    }

    fn instrument(&self, trace: &Trace<'_>) {
        let [asks, word, place] = [Reg::R14, Reg::Rbx, Reg::R15].map(Arg::Reg);
        for ins in trace.ins() {
            let jump = |point, to| ins.insert_jump(point, IF_ODD, &[asks, word, to]);
            let count = |n| ins.insert_count(IPoint::Before, Counter::Image(n), 1);
            let done = match ins.opcode().name() {
                "bswap" => count(0).and(jump(IPoint::Before, Arg::NextAddr)),
                "bsf" => jump(IPoint::Before, place).and(count(1)),
                "bsr" => count(2).and(jump(IPoint::After, place)),
                "adc" => count(3),
                "popcnt" => jump(IPoint::Before, Arg::Const(0x10)),
                _ => Ok(()),
            };
            done.unwrap();
        }
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        let (program, images) = (host.program(), host.images());
        let own = images.iter().find(|image| image.path == program);
        let total = |n| own.map_or(0, |image| host.image_total(image.id, n));
        let _ = report::json(self, host, report, |o| {
            let mut all = (0..).zip(NAMES);
            all.try_for_each(|(n, name)| o.field(name, total(n)))
        });
    }
}
