//! What the tool API grants and refuses, and what its arguments stand for.

mod common;

use common::capture::State;
use common::machine::{CODE, Machine};
use ppin_abi::addr::{AppPc, ImageBase, ImageRange};
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_abi::record::{ArgKind, NO_REG};
use ppin_api::{
    About, Arg, Category, Counter, IPoint, MAX_AMOUNT, Refused, Routine, RoutineId, Tool, Trace,
};
use ppin_jit::{BytesEnd, Request, compile};
use ppin_relocator::Shape;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::RefCell;

/// Runs its closure as instrumentation.
struct Ask<F>(F);

impl<F: Fn(&Trace<'_>) + Send + Sync + 'static> Tool for Ask<F> {
    fn about(&self) -> &'static About {
        &About {
            name: "ask",
            summary: "asks",
            knobs: &[],
        }
    }
    fn global_counters(&self) -> u32 {
        70
    }
    fn image_counters(&self) -> u32 {
        10
    }
    fn routines(&self) -> &'static [Routine] {
        const ROUTINES: &[Routine] = &[Routine::with_host("one", |_| {})];
        ROUTINES
    }
    fn instrument(&self, trace: &Trace<'_>) {
        (self.0)(trace);
    }
}

/// Lets `check` look at the trace of `bytes`.
fn ask(bytes: &[u8], check: impl Fn(&Trace<'_>) + Send + Sync + 'static) {
    let request = Request {
        pc: AppPc(0x5555_5555_1000),
        image: ImageBase(0x5555_5555_0000),
        context: Context::CANONICAL,
        bytes,
        end: BytesEnd::Limit,
        max_source: None,
        shape: Shape::STRAIGHT,
        sequences: &[],
        arrives: false,
        optimize: Optimize::ALL,
        sealed: ImageRange::NONE,
        steady: false,
        bodies: None,
    };
    let _ = compile(&request, &Ask(check));
}

#[test]
fn what_cannot_be_had_is_refused() {
    // je; ret
    ask(&[0x74, 0x10, 0xc3], |trace| {
        let ins: Vec<_> = trace.ins().collect();
        let counter = Counter::Global(0);
        let count = |index: usize, point| ins[index].insert_count(point, counter, 1);
        assert_eq!(count(0, IPoint::After), Ok(()));
        assert_eq!(count(0, IPoint::TakenBranch), Ok(()));
        assert_eq!(count(1, IPoint::After), Err(Refused::Point));
        assert_eq!(count(1, IPoint::TakenBranch), Err(Refused::Point));
        let any = IPoint::Anywhere;
        let amount = |amount| ins[0].insert_count(any, counter, amount);
        assert_eq!(amount(0), Err(Refused::Amount));
        assert_eq!(amount(MAX_AMOUNT + 1), Err(Refused::Amount));
        let with = |counter| ins[0].insert_count(any, counter, 1);
        assert_eq!(with(Counter::Global(64)), Err(Refused::Counter));
        assert_eq!(with(Counter::Image(9)), Ok(()));
        assert_eq!(with(Counter::Image(10)), Err(Refused::Counter));
    });
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    // mov [rdi], rax; jmp rax
    ask(&[0x48, 0x89, 0x07, 0xff, 0xe0], |trace| {
        let ins: Vec<_> = trace.ins().collect();
        let one = RoutineId(0);
        let before = |args: &[Arg]| ins[0].insert_call(IPoint::Before, one, args);
        assert_eq!(before(&[Arg::MemoryEa(0)]), Ok(()));
        assert_eq!(before(&[Arg::MemoryEa(1)]), Err(Refused::Operand));
        assert_eq!(before(&[Arg::BranchTarget]), Err(Refused::Target));
        assert_eq!(before(&[Arg::InsAddr; 7]), Err(Refused::Arguments));
        let after = ins[0].insert_call(IPoint::After, one, &[Arg::MemoryEa(0)]);
        assert_eq!(after, Err(Refused::Operand));
        let unknown = ins[0].insert_call(IPoint::Before, RoutineId(1), &[]);
        assert_eq!(unknown, Err(Refused::Routine));
    });
}

#[test]
fn blocks_end_at_control_transfers_only() {
    // nop; je; rep movsb; cpuid; syscall
    let code = [0x90, 0x74, 0x10, 0xf3, 0xa4, 0x0f, 0xa2, 0x0f, 0x05];
    ask(&code, |trace| {
        let lens: Vec<usize> = trace.bbls().map(|bbl| bbl.ins().count()).collect();
        assert_eq!(lens, [2, 3]);
        let categories: Vec<Category> = trace.ins().map(|ins| ins.category()).collect();
        assert_eq!(categories[1], Category::ConditionalBranch);
        assert_eq!(categories[4], Category::Syscall);
        let repeated: Vec<bool> = trace.ins().map(|ins| ins.is_repeated()).collect();
        assert_eq!(repeated, [false, false, true, false, false]);
        let names: Vec<String> = trace.ins().map(|ins| ins.opcode().to_string()).collect();
        assert_eq!(names, ["nop", "je", "movsb", "cpuid", "syscall"]);
    });
}

#[test]
fn memory_operands_include_the_implicit_ones() {
    // push [rax]; call
    ask(&[0xff, 0x30, 0xe8, 0, 1, 0, 0], |trace| {
        let all: Vec<Vec<(bool, u32)>> = trace
            .ins()
            .map(|ins| {
                let operands = ins.memory_operands();
                let pair = |op: &ppin_api::MemoryOperand| (op.access.writes(), op.size);
                operands.iter().map(pair).collect()
            })
            .collect();
        assert!(all[0].contains(&(false, 8)) && all[0].contains(&(true, 8)));
        assert_eq!(all[1], [(true, 8)]);
    });
}

/// Loads and stores in many forms, each with one explicit operand.
const ACCESSES: [&[u8]; 10] = [
    &[0x48, 0x8b, 0x06],                               // mov rax, [rsi]
    &[0x48, 0x8b, 0x44, 0x8b, 0xf0],                   // mov rax, [rbx+rcx*4-16]
    &[0x49, 0x8b, 0x84, 0xd4, 0, 1, 0, 0],             // mov rax, [r12+rdx*8+256]
    &[0x67, 0x8b, 0x44, 0x8b, 0xf0],                   // mov eax, [ebx+ecx*4-16]
    &[0x4a, 0x8b, 0x04, 0xad, 0xf0, 0xff, 0xff, 0xff], // mov rax, [r13*4-16]
    &[0x48, 0xa1, 1, 2, 3, 4, 5, 6, 0, 0],             // mov rax, [moffs]
    &[0xa6],                                           // cmpsb
    &[0x48, 0xab],                                     // stosq
    &[0x0f, 0x10, 0x07],                               // movups xmm0, [rdi]
    &[0xff, 0x33],                                     // push [rbx]
];

/// The engine's reading of the address argument in the first call record.
fn first_address(machine: &Machine, code: &[u8], state: &State) -> Option<u64> {
    let fragment = machine.compile(code, Context::CANONICAL, common::tool("calls"));
    let arg = &fragment.cold[12 + 12..12 + 24];
    let word = |at: usize| u32::from_le_bytes(arg[at..at + 4].try_into().unwrap());
    if arg[0] != ArgKind::EffectiveAddr as u8 {
        return None;
    }
    let reg = |number: u8| match number {
        NO_REG => 0,
        number => state.regs[usize::from(number)],
    };
    let displacement = u64::from(word(4)) | u64::from(word(8)) << 32;
    let index = reg(arg[2]) << (arg[3] & 15);
    let address = reg(arg[1]).wrapping_add(index).wrapping_add(displacement);
    let narrow = arg[3] & 1 << 6 != 0;
    Some(if narrow {
        address & 0xffff_ffff
    } else {
        address
    })
}

#[test]
fn effective_addresses_are_those_that_fault() {
    let machine = RefCell::new(Machine::new(false));
    let mut runner = TestRunner::new(Config {
        cases: 2000,
        failure_persistence: None,
        ..Config::default()
    });
    let value = prop_oneof![any::<u64>().prop_map(|v| v >> 18), 0..0x1000_u64];
    let input = (
        proptest::sample::select(ACCESSES.to_vec()),
        proptest::array::uniform16(value),
    );
    let result = runner.run(&input, |(code, values)| {
        let machine = &mut *machine.borrow_mut();
        let state = machine.state(values, 0);
        let native = machine.native(code, &state);
        // Only a fault of the access itself, at a canonical address, is reported.
        if native.fault != 0 && native.pc == machine.app() + CODE && !crosses(native.fault) {
            let address = first_address(machine, code, &state).unwrap();
            let second = code == [0xa6] && address != native.fault;
            prop_assert!(second || address == native.fault, "{:x?}", native.fault);
        }
        Ok(())
    });
    result.unwrap();
}

/// The fault of an access that crosses pages may be in its second half.
fn crosses(fault: u64) -> bool {
    fault.is_multiple_of(0x1000)
}
