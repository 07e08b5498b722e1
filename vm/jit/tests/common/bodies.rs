//! A tool whose routines are given as machine code, for listings that no compiler changes.

use super::routines::Sums;
use ppin_api::compiler::CodeBytes;
use ppin_api::{
    About, Arg, Counter, Function, IPoint, Outcome, Parameters, Reg, Routine, RoutineId, State,
    StateId, Tool, Trace,
};
use std::any::Any;

/// A routine at a fixed address, with the parameters of another.
struct At(u64, &'static dyn Function);

impl Function for At {
    fn address(&self) -> usize {
        self.0 as usize
    }
    fn parameters(&self) -> Parameters {
        self.1.parameters()
    }
    fn outcome(&self) -> Outcome {
        self.1.outcome()
    }
    fn call(&self, _states: &mut [&mut dyn Any], _scalars: &[u64]) -> u64 {
        unreachable!("machine code only")
    }
}

extern "C" fn one(_: &mut Sums, _: u64) {}

const ONE: &dyn Function = &(one as extern "C" fn(&mut Sums, _));

/// Where the code lies.
const BASE: u64 = 0x1000;

#[rustfmt::skip] // one instruction a line
const CODE: &[u8] = &[
    // 0x1000: counts[index] += 1, with its panic
    0x50,                               // push rax
    0x48, 0x83, 0xfe, 0x08,             // cmp rsi, 8
    0x73, 0x06,                         // jae +6
    0x48, 0xff, 0x04, 0xf7,             // inc qword [rdi + rsi * 8]
    0x58,                               // pop rax
    0xc3,                               // ret
    0xe8, 0x00, 0x00, 0x00, 0x00,       // call the next: a panic
    0xeb, 0xfe,                         // jmp to itself
    // 0x1014: a line of a cache
    0x48, 0xc1, 0xee, 0x06,             // shr rsi, 6
    0x48, 0x39, 0x37,                   // cmp [rdi], rsi
    0x75, 0x05,                         // jne +5
    0x48, 0xff, 0x47, 0x08,             // inc qword [rdi + 8]
    0xc3,                               // ret
    0xe9, 0x00, 0x10, 0x00, 0x00,       // jmp to what cannot be read
    // 0x1027: whether a countdown is over
    0x48, 0xff, 0x0f,                   // dec qword [rdi]
    0x0f, 0x94, 0xc0,                   // sete al
    0xc3,                               // ret
];

/// Calls one routine with a number before each instruction, another with a register behind it.
pub struct Bodies;

impl Tool for Bodies {
    fn about(&self) -> &'static About {
        &About {
            name: "bodies",
            summary: "machine code",
            knobs: &[],
        }
    }
    fn states(&self) -> &'static [State] {
        const STATES: &[State] = &[State::of::<Sums>("sums")];
        STATES
    }
    fn routines(&self) -> &'static [Routine] {
        const ROUTINES: &[Routine] = &[
            Routine::of("index", &At(BASE, ONE)),
            Routine::of("line", &At(BASE + 0x14, ONE)),
        ];
        ROUTINES
    }
    fn code(&self) -> Option<&dyn CodeBytes> {
        Some(&Given)
    }
    fn instrument(&self, trace: &Trace<'_>) {
        let state = Arg::State(StateId(0));
        for (n, ins) in trace.ins().enumerate() {
            let args = [state, Arg::Const(n as u64 + 5)];
            ins.insert_call(IPoint::Before, RoutineId(0), &args)
                .unwrap();
            let args = [state, Arg::Reg(Reg::Rdx)];
            let _ = ins.insert_call(IPoint::After, RoutineId(1), &args);
        }
    }
}

extern "C" fn over(_: &mut Sums) -> bool {
    true
}

const OVER: &dyn Function = &(over as extern "C" fn(&mut Sums) -> bool);

/// Counts down before each instruction; at the end calls a routine, behind each one the host.
pub struct Decided;

impl Tool for Decided {
    fn about(&self) -> &'static About {
        &About {
            name: "decided",
            summary: "a countdown",
            knobs: &[],
        }
    }
    fn states(&self) -> &'static [State] {
        Bodies.states()
    }
    fn routines(&self) -> &'static [Routine] {
        const ROUTINES: &[Routine] = &[
            Routine::of("over", &At(BASE + 0x27, OVER)),
            Routine::of("index", &At(BASE, ONE)),
            Routine::with_host("host", |_| {}),
        ];
        ROUTINES
    }
    fn code(&self) -> Option<&dyn CodeBytes> {
        Some(&Given)
    }
    fn instrument(&self, trace: &Trace<'_>) {
        let state = Arg::State(StateId(0));
        for ins in trace.ins() {
            let over = ins.insert_if(IPoint::Before, RoutineId(0), &[state]);
            let args = [state, Arg::Reg(Reg::Rax)];
            over.unwrap().then(RoutineId(1), &args).unwrap();
            if let Ok(over) = ins.insert_if(IPoint::After, RoutineId(0), &[state]) {
                over.then(RoutineId(2), &[Arg::NextAddr]).unwrap();
            }
        }
    }
}

/// Calls a routine, and the host, before each instruction that does its work.
pub struct Predicated;

impl Tool for Predicated {
    fn about(&self) -> &'static About {
        &About {
            name: "predicated",
            summary: "what is done",
            knobs: &[],
        }
    }
    fn states(&self) -> &'static [State] {
        Bodies.states()
    }
    fn routines(&self) -> &'static [Routine] {
        Decided.routines()
    }
    fn code(&self) -> Option<&dyn CodeBytes> {
        Some(&Given)
    }
    fn instrument(&self, trace: &Trace<'_>) {
        let args = [Arg::State(StateId(0)), Arg::Const(3)];
        for ins in trace.ins() {
            let _ = ins.insert_predicated_call(IPoint::Before, RoutineId(1), &args);
            let _ = ins.insert_predicated_call(IPoint::Before, RoutineId(2), &[Arg::InsAddr]);
        }
    }
}

/// Puts the results of a routine into registers, before and behind each instruction.
pub struct Into;

impl Tool for Into {
    fn about(&self) -> &'static About {
        &About {
            name: "into",
            summary: "changed registers",
            knobs: &[],
        }
    }
    fn states(&self) -> &'static [State] {
        Bodies.states()
    }
    fn routines(&self) -> &'static [Routine] {
        Decided.routines()
    }
    fn code(&self) -> Option<&dyn CodeBytes> {
        Some(&Given)
    }
    fn instrument(&self, trace: &Trace<'_>) {
        let args = [Arg::State(StateId(0))];
        for ins in trace.ins() {
            let into = |point, reg| ins.insert_call_into(point, reg, RoutineId(0), &args);
            into(IPoint::Before, Reg::Rdi).unwrap();
            let _ = into(IPoint::After, Reg::Rbx);
        }
    }
}

/// Stores results: at each operand before the instruction, and where rdi points behind it.
pub struct Stores;

impl Tool for Stores {
    fn about(&self) -> &'static About {
        &About {
            name: "stores",
            summary: "changed memory",
            knobs: &[],
        }
    }
    fn states(&self) -> &'static [State] {
        Bodies.states()
    }
    fn routines(&self) -> &'static [Routine] {
        Decided.routines()
    }
    fn code(&self) -> Option<&dyn CodeBytes> {
        Some(&Given)
    }
    fn instrument(&self, trace: &Trace<'_>) {
        let args = [Arg::State(StateId(0))];
        for ins in trace.ins() {
            let store = |point, address, bytes| {
                ins.insert_store(point, address, bytes, RoutineId(0), &args)
            };
            for operand in 0..ins.memory_operands().len() {
                store(IPoint::Before, Arg::MemoryEa(operand), 1 << operand).unwrap();
            }
            let _ = store(IPoint::After, Arg::Reg(Reg::Rdi), 8);
        }
    }
}

/// Leads the app away before the second instruction, and counts those that are executed.
pub struct Jumps;

impl Tool for Jumps {
    fn about(&self) -> &'static About {
        &About {
            name: "jumps",
            summary: "led away",
            knobs: &[],
        }
    }
    fn global_counters(&self) -> u32 {
        1
    }
    fn states(&self) -> &'static [State] {
        Bodies.states()
    }
    fn routines(&self) -> &'static [Routine] {
        Decided.routines()
    }
    fn code(&self) -> Option<&dyn CodeBytes> {
        Some(&Given)
    }
    fn instrument(&self, trace: &Trace<'_>) {
        let args = [Arg::State(StateId(0))];
        for ins in trace.ins() {
            let counted = ins.insert_count(IPoint::Before, Counter::Global(0), 1);
            counted.unwrap();
        }
        if let Some(second) = trace.ins().nth(1) {
            let jump = second.insert_jump(IPoint::Before, RoutineId(0), &args);
            jump.unwrap();
        }
    }
}

struct Given;

impl CodeBytes for Given {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        self.constant(address, buffer)
    }

    fn constant(&self, address: u64, buffer: &mut [u8]) -> usize {
        let start = address.wrapping_sub(BASE) as usize;
        let rest = CODE.get(start..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        len
    }

    fn link(&self, _place: u64) -> Option<u64> {
        None
    }
}
