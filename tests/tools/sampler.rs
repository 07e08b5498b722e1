//! `sampler`: looks at every instruction, and acts at every 1,000th.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

use core::sync::atomic::{AtomicU64, Ordering};
use ppin_sdk::knobs::Knobs;
use ppin_sdk::prelude::*;
use ppin_sdk::report;

const KNOBS: &[Knob] = &[Knob {
    name: "memory-only",
    default: "off",
    help: "look only at instructions with memory operands",
    changes_code: true,
    writes_file: false,
}];

const EVERY: u64 = 1_000;

/// What is counted.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    since: u64,
    samples: u64,
    places: u64,
    odd: u64,
    met: u64,
    worked: u64,
}

impl Merge for Counts {
    fn merge(&mut self, other: &Self) {
        self.since += other.since;
        self.samples += other.samples;
        self.places += other.places;
        self.odd += other.odd;
        self.met += other.met;
        self.worked += other.worked;
    }
}

extern "C" fn is_due(counts: &mut Counts) -> bool {
    counts.since += 1;
    counts.since == EVERY
}

extern "C" fn sample(counts: &mut Counts, place: u64) {
    counts.since = 0;
    counts.samples += 1;
    counts.places += place;
}

extern "C" fn low_bits(value: u64) -> u64 {
    value & 3
}

extern "C" fn odd(counts: &mut Counts, value: u64) {
    counts.odd += value & 3;
}

extern "C" fn is_fresh(counts: &mut Counts) -> i32 {
    (counts.since == 0) as i32
}

extern "C" fn met(counts: &mut Counts) {
    counts.met += 1;
}

extern "C" fn worked(counts: &mut Counts) {
    counts.worked += 1;
}

const COUNTS: Arg = Arg::State(StateId(0));
const IS_DUE: RoutineId = RoutineId(0);
const SAMPLE: RoutineId = RoutineId(1);
const LOW_BITS: RoutineId = RoutineId(2);
const ODD: RoutineId = RoutineId(3);
const IS_FRESH: RoutineId = RoutineId(4);
const BEHIND: RoutineId = RoutineId(5);
const MET: RoutineId = RoutineId(6);
const WORKED: RoutineId = RoutineId(7);

#[derive(Debug, Default)]
pub struct Sampler {
    memory_only: bool,
    hosted: AtomicU64,
    threads: AtomicU64,
}

impl Sampler {
    pub const ABOUT: About = About {
        name: "sampler",
        summary: "acts at every 1,000th instruction",
        knobs: KNOBS,
    };
}

ppin_sdk::tool!(Sampler);

impl Tool for Sampler {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn configure(&mut self, given: &[(&str, &str)]) -> Result<(), String> {
        let knobs = Knobs::new(&Self::ABOUT, given)?;
        self.memory_only = knobs.switch("memory-only")?;
        Ok(())
    }

    fn global_counters(&self) -> u32 {
        1
    }

    fn states(&self) -> &'static [State] {
        const STATES: &[State] = &[State::of::<Counts>("counts")];
        STATES
    }

    fn routines(&self) -> &'static [Routine] {
        const BEHIND: Routine = Routine::with_host("behind", |call| {
            if let Some(tool) = call.tool::<Sampler>() {
                tool.hosted.fetch_add(1, Ordering::Relaxed);
                tool.threads.fetch_add(call.args[0], Ordering::Relaxed);
            }
        });
        const ALL: &[Routine] = &[
            Routine::of("is_due", &(is_due as extern "C" fn(&mut Counts) -> bool)),
            Routine::of("sample", &(sample as extern "C" fn(&mut Counts, u64))),
            Routine::of("low_bits", &(low_bits as extern "C" fn(u64) -> u64)),
            Routine::of("odd", &(odd as extern "C" fn(&mut Counts, u64))),
            Routine::of("is_fresh", &(is_fresh as extern "C" fn(&mut Counts) -> i32)),
            BEHIND,
            Routine::of("met", &(met as extern "C" fn(&mut Counts))),
            Routine::of("worked", &(worked as extern "C" fn(&mut Counts))),
        ];
        ALL
    }

    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            if self.memory_only && ins.memory_operands().is_empty() {
                continue;
            }
            ins.insert_count(IPoint::Before, Counter::Global(0), 1)
                .unwrap();
            let due = ins.insert_if(IPoint::Before, IS_DUE, &[COUNTS]).unwrap();
            due.then(SAMPLE, &[COUNTS, Arg::Const(u64::from(ins.len()))])
                .unwrap();
            // Counted before the instruction, told of before it as well.
            let fresh = ins.insert_if(IPoint::Before, IS_FRESH, &[COUNTS]).unwrap();
            fresh.then(BEHIND, &[Arg::ThreadId]).unwrap();
            if ins.predicate() == Predicate::Told {
                ins.insert_call(IPoint::Before, MET, &[COUNTS]).unwrap();
                ins.insert_predicated_call(IPoint::Before, WORKED, &[COUNTS])
                    .unwrap();
            }
            if let Ok(low) = ins.insert_if(IPoint::After, LOW_BITS, &[Arg::Reg(Reg::Rbx)]) {
                low.then(ODD, &[COUNTS, Arg::Reg(Reg::Rbx)]).unwrap();
            }
        }
    }

    fn fork_child(&self, _: &dyn Host) {
        self.hosted.store(0, Ordering::Relaxed);
        self.threads.store(0, Ordering::Relaxed);
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        let counts = host
            .merged(StateId(0))
            .and_then(|copy| copy.into_any().downcast().ok());
        let counts: Counts = counts.map_or_else(Counts::default, |counts| *counts);
        let hosted = self.hosted.load(Ordering::Relaxed);
        let threads = self.threads.load(Ordering::Relaxed);
        let _ = report::json(self, host, report, |o| {
            o.field("executed", host.global_total(0))?;
            o.field("since", counts.since)?;
            o.field("samples", counts.samples)?;
            o.field("places", counts.places)?;
            o.field("odd", counts.odd)?;
            o.field("met", counts.met)?;
            o.field("worked", counts.worked)?;
            o.field("hosted", hosted)?;
            o.field("of_threads", threads)
        });
    }
}
