//! `changer`: changes registers of programs that ask for it, by a number in r14.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

use ppin_sdk::prelude::*;
use ppin_sdk::report;

/// How often each routine was called by who asked for it.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    redirected: u64,
    spoilt: u64,
    hidden: u64,
}

impl Merge for Counts {
    fn merge(&mut self, other: &Self) {
        self.redirected += other.redirected;
        self.spoilt += other.spoilt;
        self.hidden += other.hidden;
    }
}

const ASKS: u64 = 0xa5c5;

/// r15, for who asks.
extern "C" fn redirected(counts: &mut Counts, asks: u64, old: u64, new: u64) -> u64 {
    let asks = asks == ASKS;
    counts.redirected += u64::from(asks);
    if asks { new } else { old }
}

/// An address that nobody has, for who asks by an odd word.
extern "C" fn spoilt(counts: &mut Counts, asks: u64, old: u64) -> u64 {
    let asks = asks == ASKS && old & 8 != 0;
    counts.spoilt += u64::from(asks);
    if asks { 0x10 } else { old }
}

/// The low half only, for who asks.
extern "C" fn hidden(counts: &mut Counts, asks: u64, old: u64) -> u64 {
    let asks = asks == ASKS;
    counts.hidden += u64::from(asks);
    if asks { old & 0xffff_ffff } else { old }
}

const COUNTS: Arg = Arg::State(StateId(0));
const REDIRECTED: RoutineId = RoutineId(0);
const SPOILT: RoutineId = RoutineId(1);
const HIDDEN: RoutineId = RoutineId(2);

#[derive(Debug, Default)]
pub struct Changer;

impl Changer {
    pub const ABOUT: About = About {
        name: "changer",
        summary: "changes registers of who asks for it",
        knobs: &[],
    };
}

ppin_sdk::tool!(Changer);

impl Tool for Changer {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn states(&self) -> &'static [State] {
        const STATES: &[State] = &[State::of::<Counts>("counts")];
        STATES
    }

    fn routines(&self) -> &'static [Routine] {
        const ALL: &[Routine] = &[
            Routine::of(
                "redirected",
                &(redirected as extern "C" fn(&mut Counts, u64, u64, u64) -> u64),
            ),
            Routine::of("spoilt", &(spoilt as extern "C" fn(&mut Counts, u64, u64) -> u64)),
            Routine::of("hidden", &(hidden as extern "C" fn(&mut Counts, u64, u64) -> u64)),
        ];
        ALL
    }

    fn instrument(&self, trace: &Trace<'_>) {
        let [asks, rbx, r15] = [Reg::R14, Reg::Rbx, Reg::R15].map(Arg::Reg);
        for ins in trace.ins() {
            let done = match ins.opcode().name() {
                "bsf" => {
                    let args = [COUNTS, asks, rbx, r15];
                    ins.insert_call_into(IPoint::Before, Reg::Rbx, REDIRECTED, &args)
                }
                "bsr" => {
                    let args = [COUNTS, asks, rbx];
                    ins.insert_call_into(IPoint::Before, Reg::Rbx, SPOILT, &args)
                }
                "bswap" => {
                    let args = [COUNTS, asks, Arg::Reg(Reg::Rdi)];
                    ins.insert_call_into(IPoint::After, Reg::Rdi, HIDDEN, &args)
                }
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
            o.field("redirected", counts.redirected)?;
            o.field("spoilt", counts.spoilt)?;
            o.field("hidden", counts.hidden)
        });
    }
}
