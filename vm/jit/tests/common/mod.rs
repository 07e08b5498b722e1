//! Tools for tests.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod bodies;
pub mod capture;
pub mod host_code;
pub mod machine;
pub mod routines;

use ppin_api::{About, Arg, Counter, IPoint, Routine, RoutineId, Tool, Trace};

/// Inserts nothing.
pub struct Null;

impl Tool for Null {
    fn about(&self) -> &'static About {
        &About {
            name: "null",
            summary: "nothing",
            knobs: &[],
        }
    }
    fn instrument(&self, _trace: &Trace<'_>) {}
}

/// Counts instructions in counter 0 and blocks in counter 1.
pub struct Counts;

impl Tool for Counts {
    fn about(&self) -> &'static About {
        &About {
            name: "counts",
            summary: "instructions and blocks",
            knobs: &[],
        }
    }
    fn distinguishes_blocks(&self) -> bool {
        true
    }
    fn global_counters(&self) -> u32 {
        machine::GLOBALS
    }
    fn instrument(&self, trace: &Trace<'_>) {
        for bbl in trace.bbls() {
            for ins in bbl.ins() {
                ins.insert_count(IPoint::Before, Counter::Global(0), 1)
                    .unwrap();
            }
            if !bbl.is_continuation() {
                bbl.first()
                    .insert_count(IPoint::Before, Counter::Global(1), 1)
                    .unwrap();
            }
        }
    }
}

/// Counts each opcode per image.
pub struct Opcodes;

impl Tool for Opcodes {
    fn about(&self) -> &'static About {
        &About {
            name: "opcodes",
            summary: "opcodes per image",
            knobs: &[],
        }
    }
    fn image_counters(&self) -> u32 {
        ppin_api::OPCODES
    }
    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            let counter = Counter::Image(ins.opcode().index());
            ins.insert_count(IPoint::Anywhere, counter, 1).unwrap();
        }
    }
}

/// Calls a routine for each memory operand, and behind each instruction.
pub struct Calls;

impl Tool for Calls {
    fn about(&self) -> &'static About {
        &About {
            name: "calls",
            summary: "memory operands",
            knobs: &[],
        }
    }
    fn routines(&self) -> &'static [Routine] {
        const ROUTINES: &[Routine] = &[
            Routine::with_host("access", |_| {}),
            Routine::with_host("behind", |_| {}),
        ];
        ROUTINES
    }
    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            for (index, operand) in ins.memory_operands().iter().enumerate() {
                if operand.has_address() {
                    let args = [
                        Arg::InsAddr,
                        Arg::MemoryEa(index),
                        Arg::MemorySize(index),
                        Arg::Const(u64::from(operand.access.writes())),
                        Arg::ThreadId,
                    ];
                    ins.insert_call(IPoint::Before, RoutineId(0), &args)
                        .unwrap();
                }
            }
            // Refused for what never goes on; nothing is inserted then.
            let _ = ins.insert_call(IPoint::After, RoutineId(1), &[Arg::NextAddr]);
        }
    }
}

/// Counts each instruction, and calls a routine before it and behind it.
pub struct Both;

impl Tool for Both {
    fn about(&self) -> &'static About {
        &About {
            name: "both",
            summary: "counts and calls",
            knobs: &[],
        }
    }
    fn global_counters(&self) -> u32 {
        machine::GLOBALS
    }
    fn routines(&self) -> &'static [Routine] {
        Calls.routines()
    }
    fn instrument(&self, trace: &Trace<'_>) {
        Counts.instrument(trace);
        for (number, ins) in trace.ins().enumerate() {
            // Some are without a call.
            if number % 3 != 0 {
                ins.insert_call(IPoint::Before, RoutineId(0), &[Arg::InsAddr])
                    .unwrap();
                let _ = ins.insert_call(IPoint::After, RoutineId(1), &[]);
            }
        }
    }
}

/// The tool called `name`.
pub fn tool(name: &str) -> &'static dyn Tool {
    match name {
        "null" => &Null,
        "counts" => &Counts,
        "opcodes" => &Opcodes,
        "calls" => &Calls,
        "both" => &Both,
        "bodies" => &bodies::Bodies,
        "routines" => &routines::Routines,
        _ => panic!("no test tool {name}"),
    }
}
