//! Tools for tests.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod bodies;
pub mod capture;
pub mod counted;
pub mod host_code;
pub mod machine;
pub mod routines;

use iced_x86::{Decoder, InstructionInfoFactory, Mnemonic, Register};
use ppin_api::{
    About, Arg, Buffer, BufferId, Category, Counter, IPoint, Reg, Routine, RoutineId, Tool, Trace,
};

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

/// Counts instructions, and conditional branches: all, those that are not taken, and those that are.
pub struct Sides;

impl Tool for Sides {
    fn about(&self) -> &'static About {
        &About {
            name: "sides",
            summary: "sides of branches",
            knobs: &[],
        }
    }
    fn global_counters(&self) -> u32 {
        machine::GLOBALS
    }
    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            let count = |point, number| ins.insert_count(point, Counter::Global(number), 1);
            count(IPoint::Before, 0).unwrap();
            if ins.category() == Category::ConditionalBranch {
                count(IPoint::Before, 1).unwrap();
                let _ = count(IPoint::After, 2);
                count(IPoint::TakenBranch, 3).unwrap();
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

ppin_api::record! {
    /// An access to memory.
    pub struct Access {
        pub pc: u64,
        pub address: u64,
        pub what: u64,
    }
}

ppin_api::record! {
    /// Fields of all sizes.
    pub struct Mixed {
        pub low: u8,
        pub index: u16,
        pub thread: u32,
        pub long: u64,
        pub sp: u64,
        pub next: u32,
    }
}

/// Appends a record for each memory operand, and one of another buffer for every third instruction.
/// Counts instructions, too.
pub struct Records;

impl Tool for Records {
    fn about(&self) -> &'static About {
        &About {
            name: "records",
            summary: "accesses",
            knobs: &[],
        }
    }
    fn global_counters(&self) -> u32 {
        machine::GLOBALS
    }
    fn buffers(&self) -> &'static [Buffer] {
        const ACCESSES: Buffer = Buffer::of::<Access>("accesses");
        const MIXED: Buffer = Buffer::of::<Mixed>("mixed");
        &[ACCESSES, MIXED]
    }
    fn instrument(&self, trace: &Trace<'_>) {
        for (number, ins) in trace.ins().enumerate() {
            ins.insert_count(IPoint::Before, Counter::Global(0), 1)
                .unwrap();
            for (index, operand) in ins.memory_operands().iter().enumerate() {
                let what = u64::from(operand.size) << 2 | u64::from(operand.access.writes());
                let args = [Arg::InsAddr, Arg::MemoryEa(index), Arg::Const(what)];
                // Refused for gathers.
                let _ = ins.append(IPoint::Before, BufferId(0), &args);
            }
            if number % 3 == 0 {
                let args = [
                    Arg::Reg(Reg::Rdi),
                    Arg::Const(number as u64),
                    Arg::ThreadId,
                    Arg::Const(0x0123_4567_89ab_cdef),
                    Arg::Reg(Reg::Rsp),
                    Arg::NextAddr,
                ];
                ins.append(IPoint::Anywhere, BufferId(1), &args).unwrap();
            }
        }
    }
}

/// Appends a record for each memory operand.
pub struct Accesses;

impl Tool for Accesses {
    fn about(&self) -> &'static About {
        &About {
            name: "accesses",
            summary: "accesses",
            knobs: &[],
        }
    }
    fn buffers(&self) -> &'static [Buffer] {
        Records.buffers()
    }
    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            for (index, operand) in ins.memory_operands().iter().enumerate() {
                let what = u64::from(operand.size) << 2 | u64::from(operand.access.writes());
                let args = [Arg::InsAddr, Arg::MemoryEa(index), Arg::Const(what)];
                let _ = ins.append(IPoint::Before, BufferId(0), &args);
            }
        }
    }
}

/// The tool called `name`.
pub fn tool(name: &str) -> &'static dyn Tool {
    match name {
        "null" => &Null,
        "counts" => &Counts,
        "sides" => &Sides,
        "opcodes" => &Opcodes,
        "calls" => &Calls,
        "both" => &Both,
        "bodies" => &bodies::Bodies,
        "predicated" => &bodies::Predicated,
        "decided" => &bodies::Decided,
        "into" => &bodies::Into,
        "stores" => &bodies::Stores,
        "jumps" => &bodies::Jumps,
        "routines" => &routines::Routines,
        "records" => &Records,
        "accesses" => &Accesses,
        _ => panic!("no test tool {name}"),
    }
}

/// Whether the instruction at the beginning of `bytes` branches or goes on.
pub fn is_conditional(bytes: &[u8]) -> bool {
    use iced_x86::{Decoder, DecoderOptions, FlowControl};
    let ins = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    ins.flow_control() == FlowControl::ConditionalBranch
}

/// Memory operands of the instruction at the beginning of `bytes` whose address can be computed.
pub fn operands(bytes: &[u8]) -> usize {
    use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, OpAccess};
    let ins = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    let mut factory = InstructionInfoFactory::new();
    let accessed = factory
        .info(&ins)
        .used_memory()
        .iter()
        .filter(|memory| !matches!(memory.access(), OpAccess::None | OpAccess::NoMemAccess));
    accessed.count()
}

/// Whether the state of a run says all that `code` writes to.
pub fn is_told_by_state(code: &[u8]) -> bool {
    let mut factory = InstructionInfoFactory::new();
    Decoder::new(64, code, 0).iter().all(|raw| {
        let mut used = factory.info(&raw).used_registers().iter();
        let base = matches!(raw.mnemonic(), Mnemonic::Wrfsbase | Mnemonic::Wrgsbase);
        let other = |register: Register| register.is_vector_register() || register.is_mm();
        !base && used.all(|used| !other(used.register()))
    })
}
