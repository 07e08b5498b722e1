//! Translated code does what the app's code does: one test for each kind of
//! rewrite, run on this CPU from random states, with and without instrumentation.

mod common;

use common::capture::State;
use common::counted;
use common::machine::{CODE, DATA, Machine, Outcome, STACK, Side};
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_api::Tool;
use ppin_relocator::{Fragment, Shape, may_enter_aside, side_entrances};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::RefCell;

const TOOLS: [&str; 8] = [
    "null", "counts", "sides", "opcodes", "calls", "routines", "records", "accesses",
];
const ARITHMETIC: u64 = 0x8d5;

/// Random registers; some point at data.
fn values() -> impl Strategy<Value = [u64; 16]> {
    let value = prop_oneof![
        4 => (0..0x300_u64).prop_map(|word| Some(8 * word)),
        2 => (0..4_u64).prop_map(|_| None),
    ];
    let small = prop_oneof![
        Just(0_u64),
        Just(1),
        Just(u64::MAX),
        0..64_u64,
        any::<u64>()
    ];
    proptest::array::uniform16((value, small))
        .prop_map(|all| all.map(|(data, other)| data.map_or(other, |offset| DATA_TAG + offset)))
}

/// Stands for the data's address, which is not known to the strategy.
const DATA_TAG: u64 = 0xdada << 32;

fn place(machine: &Machine, values: [u64; 16]) -> [u64; 16] {
    values.map(|value| {
        if value >> 32 == DATA_TAG >> 32 {
            machine.app() + DATA + (value - DATA_TAG)
        } else {
            value
        }
    })
}

/// Compares the run of `code` with that of its translation.
fn compare(machine: &mut Machine, code: &[u8], state: &State, tool: &dyn Tool) -> Side {
    compare_in(Context::CANONICAL, machine, code, state, tool)
}

/// The same, translated in `context`.
fn compare_in(
    context: Context,
    machine: &mut Machine,
    code: &[u8],
    state: &State,
    tool: &dyn Tool,
) -> Side {
    if tool.name() == "routines" {
        compare_ways(context, machine, code, state, tool);
    }
    let native = machine.native(code, state);
    let fragment = machine.compile(code, context, tool);
    let (mut translated, side) = machine.translated(code, &fragment, state);
    let mut expected = native.clone();
    let left = side.executed.is_some() && !machine.beyond.is_empty();
    if (side.fault || left) && tool.name() != "null" {
        // Dead flags may be stale in a fault frame, and where code goes on that overwrites them.
        for outcome in [&mut expected, &mut translated] {
            outcome.state.flags &= !ARITHMETIC;
        }
    }
    assert_same(&expected, &translated, code, tool);
    counted::check(machine, &native, &side, tool, code);
    if tool.name() == "null" {
        compare_aside(machine, code, &fragment, state, tool);
    }
    side
}

/// What comes by one of the side entrances goes on as the app does.
fn compare_aside(
    machine: &mut Machine,
    code: &[u8],
    fragment: &Fragment,
    state: &State,
    tool: &dyn Tool,
) {
    let rows: Vec<_> = side_entrances(fragment.pc_map.iter()).collect();
    let any = state.regs[0] as usize / 8 % rows.len().max(1);
    let may = may_enter_aside(fragment.context, &fragment.counts) && common::is_told_by_state(code);
    let Some(row) = rows.get(any).filter(|_| may) else {
        return;
    };
    let before = machine.native(&code[..row.app as usize], state);
    let native = machine.native(code, state);
    if before.pc != machine.app() + CODE + u64::from(row.app) {
        return; // The app does not come there.
    }
    let translated = machine.translated_from(row.hot, &before, code, fragment);
    assert_same(&native, &translated, code, tool);
}

/// Routines in line collect what called ones do.
fn compare_ways(
    context: Context,
    machine: &mut Machine,
    code: &[u8],
    state: &State,
    tool: &dyn Tool,
) {
    let mut run = |optimize| {
        machine.optimize = optimize;
        let fragment = machine.compile(code, context, tool);
        let (outcome, side) = machine.translated(code, &fragment, state);
        machine.optimize = Optimize::ALL;
        (outcome, side.sums)
    };
    let (mut inline, inline_sums) = run(Optimize::ALL);
    let (mut called, called_sums) = run(Optimize::ALL.without(Optimize::INLINE));
    for outcome in [&mut inline, &mut called] {
        // Dead flags may be stale in a fault frame.
        outcome.state.flags &= !ARITHMETIC;
    }
    assert_same(&inline, &called, code, tool);
    assert_eq!(inline_sums, called_sums, "{code:02x?}");
}

fn assert_same(native: &Outcome, translated: &Outcome, code: &[u8], tool: &dyn Tool) {
    let differs = native
        .memory
        .iter()
        .zip(&translated.memory)
        .position(|(a, b)| a != b);
    let short = |outcome: &Outcome| {
        let mut outcome = outcome.clone();
        outcome.memory.clear();
        format!("{outcome:x?}")
    };
    assert!(
        native == translated,
        "{code:02x?} with {}:\nnative     {}\ntranslated {}\nfirst differing byte {differs:x?}",
        tool.name(),
        short(native),
        short(translated),
    );
}

/// Compares runs of `code` from random states, near the cache and far from it,
/// with each tool.
fn lockstep(code: &[u8]) {
    lockstep_in(Context::CANONICAL, code);
}

/// The same, translated in `context`.
fn lockstep_in(context: Context, code: &[u8]) {
    lockstep_on(context, code, |_| {});
}

/// The same on a machine that is `set` so.
fn lockstep_on(context: Context, code: &[u8], set: impl Fn(&mut Machine)) {
    for low in [false, true] {
        let machine = RefCell::new(Machine::new(low));
        set(&mut machine.borrow_mut());
        let run = |values, flags| {
            let machine = &mut *machine.borrow_mut();
            let state = machine.state(place(machine, values), flags);
            for tool in TOOLS {
                let tool = common::tool(tool);
                // (What is not followed leads to where the app goes on in the piece.)
                if machine.compile(code, context, tool).shape == machine.shape {
                    compare_in(context, machine, code, &state, tool);
                }
            }
        };
        let mut runner = TestRunner::new(Config {
            cases: 48,
            failure_persistence: None,
            ..Config::default()
        });
        let input = (values(), any::<u64>());
        let result = runner.run(&input, |(values, flags)| {
            run(values, flags);
            Ok(())
        });
        result.unwrap();
    }
}

#[test]
fn watched_stores() {
    let watched = |code: &[u8]| lockstep_in(Context::WATCHED, code);
    watched(&[0x48, 0x89, 0x07, 0x48, 0x89, 0x4e, 0x08]); // mov [rdi], rax; mov [rsi+8], rcx
    watched(&[0x48, 0x89, 0x0c, 0x17, 0x48, 0x89, 0x14, 0xca]); // mov [rdi+rdx], rcx; mov [rdx+rcx*8], rdx
    watched(&[0x48, 0xc7, 0x01, 5, 0, 0, 0, 0x48, 0x89, 0x24, 0x24]); // mov qword [rcx], 5; mov [rsp], rsp
    watched(&[0x39, 0xd8, 0x48, 0x89, 0x0d, 0x00, 0x20, 0, 0, 0x74, 0x10]); // cmp eax, ebx; mov [rip+0x2000], rcx; je
    watched(&[0x67, 0x48, 0x89, 0x02, 0x64, 0x48, 0x89, 0x02]); // mov [edx], rax; mov fs:[rdx], rax
}

#[test]
fn verbatim() {
    lockstep(&[0x48, 0x01, 0xd8, 0x49, 0x0f, 0xaf, 0xc9, 0x9c, 0x8f, 0xc2]); // add rax, rbx; imul rcx, r9; pushfq; pop rdx
    lockstep(&[0x48, 0x8b, 0x06, 0x48, 0x89, 0x07, 0x39, 0xd8]); // mov rax, [rsi]; mov [rdi], rax; cmp eax, ebx
    lockstep(&[0x48, 0x11, 0x1e, 0x48, 0xa7, 0x0f, 0x94, 0xc0]); // adc [rsi], rbx; cmpsq; sete al
    lockstep(&[0xb9, 5, 0, 0, 0, 0xf3, 0xa4, 0xf3, 0xa6]); // mov ecx, 5; rep movsb; repe cmpsb
    lockstep(&[0xff, 0x74, 0x24, 0x08, 0x8f, 0x44, 0x24, 0x10]); // push [rsp+8]; pop [rsp+16]
    lockstep(&[
        0xf3, 0x0f, 0x6f, 0x06, 0x66, 0x0f, 0xef, 0xc9, 0xf3, 0x0f, 0x7f, 0x07,
    ]); // movdqu both ways
}

#[test]
fn records_that_are_stored_together() {
    // push rbx; push rbp; sub rsp, 0x18; mov [rsp+8], rdi; mov rax, [rsi+rcx*8]; add rsp, 0x18; pop rbp; pop rbx; ret
    lockstep(&[
        0x53, 0x55, 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x7c, 0x24, 0x08, 0x48, 0x8b, 0x04, 0xce,
        0x48, 0x83, 0xc4, 0x18, 0x5d, 0x5b, 0xc3,
    ]);
    // mov rax, [rdi]; mov [rsi], rax; mov rbx, [rax]; mov ecx, [rdx]; adc [rbx], ecx
    lockstep(&[
        0x48, 0x8b, 0x07, 0x48, 0x89, 0x06, 0x48, 0x8b, 0x18, 0x8b, 0x0a, 0x11, 0x0b,
    ]);
    // mov rax, [rdi]; mov [rdi+rax], r10; movsb; mov [rdi], al; pop [rsp+8]
    lockstep(&[
        0x48, 0x8b, 0x07, 0x4c, 0x89, 0x14, 0x07, 0xa4, 0x88, 0x07, 0x8f, 0x44, 0x24, 0x08,
    ]);
}

#[test]
fn blocks_that_are_joined() {
    let code = [
        0x48, 0x8b, 0x07, // mov rax, [rdi]: may fault
        0x48, 0x85, 0xdb, // test rbx, rbx
        0x74, 0x18, // je beyond
        0x48, 0x8b, 0x0e, // mov rcx, [rsi]: may fault
        0x48, 0x39, 0xc8, // cmp rax, rcx
        0x72, 0x10, // jb beyond
        0x48, 0x01, 0xca, // add rdx, rcx
        0x0f, 0x88, 0x00, 0x10, 0, 0, // js far away
        0x48, 0x89, 0x17, // mov [rdi], rdx: may fault
        0x48, 0x85, 0xd2, 0xc3, // test rdx, rdx; ret
    ];
    let dead = [0x39, 0xc8, 0xc3]; // cmp eax, ecx; ret
    let alive = [0x0f, 0x92, 0xc0, 0xc3]; // setb al; ret
    for beyond in [&dead[..], &alive] {
        lockstep_on(Context::CANONICAL, &code, |machine| {
            machine.beyond = beyond.to_vec()
        });
    }
}

#[test]
fn branches_that_are_followed() {
    // test bl, bl; je over int3; mov eax, [rdi]; jmp over int3; cmp al, cl; jb over int3; mov [rsi], edx
    let code = [
        0x84, 0xdb, 0x74, 1, 0xcc, 0x8b, 0x07, 0xeb, 1, 0xcc, 0x38, 0xc8, 0x72, 1, 0xcc, 0x89, 0x16,
    ];
    lockstep_on(Context::CANONICAL, &code, |machine| {
        machine.shape = Shape(7)
    });
}

#[test]
fn rip_relative() {
    let to_data = |behind: u32| (DATA as u32 - CODE as u32 - behind).to_le_bytes();
    let [a, b, c, d] = to_data(7);
    lockstep(&[0x48, 0x8b, 0x05, a, b, c, d]); // mov rax, [rip + data]
    lockstep(&[0x48, 0x8d, 0x0d, a, b, c, d]); // lea rcx, [rip + data]
    let [a, b, c, d] = to_data(10);
    lockstep(&[0x81, 0x05, a, b, c, d, 0x44, 0x33, 0x22, 0x11]); // add dword [rip + data], imm32
    let [a, b, c, d] = to_data(8);
    lockstep(&[0x80, 0x3d, a, b, c, d, 0x12, 0x90]); // cmp byte [rip + data], imm8; nop
    lockstep(&[0x4a, 0x8b, 0x05, a, b, c, d, 0x90]); // mov with REX.X; nop
    lockstep(&[0x44, 0x0f, 0xb6, 0x2d, a, b, c, d]); // movzx r13d, byte [rip + data]
    lockstep(&[0xc5, 0x7e, 0x6f, 0x0d, a, b, c, d, 0xc5, 0x7e, 0x7f, 0x0f]); // vmovdqu ymm9; to [rdi]
}

#[test]
fn operands_in_gs() {
    lockstep(&[0x65, 0x48, 0x8b, 0x04, 0x25, 0x10, 1, 0, 0]); // mov rax, gs:[0x110]
    // and rcx, 0xf8; add gs:[rcx+rcx+0x108], rcx
    lockstep(&[
        0x48, 0x81, 0xe1, 0xf8, 0, 0, 0, 0x65, 0x48, 0x01, 0x8c, 0x09, 8, 1, 0, 0,
    ]);
    lockstep(&[0x65, 0x48, 0x8b, 0x4d, 0x00]); // mov rcx, gs:[rbp]: may fault
    // and eax, 0x78; mov ah, gs:[rax+0x110]; adc gs:[0x108], ah
    lockstep(&[
        0x83, 0xe0, 0x78, 0x65, 0x8a, 0xa0, 0x10, 1, 0, 0, 0x65, 0x10, 0x24, 0x25, 8, 1, 0, 0,
    ]);
    // and esi, 0x70; lock cmpxchg16b gs:[rsi+0x110]; jb
    lockstep(&[
        0x83, 0xe6, 0x70, 0xf0, 0x65, 0x48, 0x0f, 0xc7, 0x8e, 0x10, 1, 0, 0, 0x72, 0x10,
    ]);
    // push gs:[0x108]; pop gs:[0x118]
    lockstep(&[
        0x65, 0xff, 0x34, 0x25, 8, 1, 0, 0, 0x65, 0x8f, 0x04, 0x25, 0x18, 1, 0, 0,
    ]);
    // and r12d, 0x38; movzx eax, byte gs:[r12+r12*4+0x110]
    lockstep(&[
        0x41, 0x83, 0xe4, 0x38, 0x65, 0x43, 0x0f, 0xb6, 0x84, 0xa4, 0x10, 1, 0, 0,
    ]);
    // and edx, 0x38; vmovdqu ymm1, gs:[rdx+0x120]; vmovdqu [rdi], ymm1
    lockstep(&[
        0x83, 0xe2, 0x38, 0x65, 0xc5, 0xfe, 0x6f, 0x8a, 0x20, 1, 0, 0, 0xc5, 0xfe, 0x7f, 0x0f,
    ]);
}

#[test]
fn the_base_of_gs() {
    lockstep(&[0xf3, 0x48, 0x0f, 0xae, 0xc8, 0xf3, 0x0f, 0xae, 0xcb]); // rdgsbase rax; rdgsbase ebx
    for register in [0, 1, 2, 6] {
        // wrgsbase r: may fault; rdgsbase r15
        let modrm = 0xd8 | register;
        lockstep(&[0xf3, 0x48, 0x0f, 0xae, modrm, 0xf3, 0x49, 0x0f, 0xae, 0xcf]);
        lockstep(&[0xf3, 0x0f, 0xae, modrm, 0xf3, 0x49, 0x0f, 0xae, 0xcf]);
    }
}

#[test]
fn jump() {
    lockstep(&[0xeb, 0x10]);
    lockstep(&[0xff, 0xc0, 0xe9, 0xf0, 0xfd, 0xff, 0xff]); // inc eax; jmp back
}

#[test]
fn conditional_jumps() {
    for condition in 0..16 {
        lockstep(&[
            0x70 | condition,
            0x20,
            0xff,
            0xc0,
            0x0f,
            0x80 | (condition ^ 1),
            1,
            1,
            0,
            0,
        ]);
    }
    // four of them, with arithmetic between
    let code = [
        0x39, 0xd8, 0x72, 0x40, 0x01, 0xc8, 0x70, 0x41, 0x48, 0xff, 0xc9, 0x7c, 0x42, 0x85, 0xd2,
        0x75, 0x43,
    ];
    lockstep(&code);
}

#[test]
fn short_jumps() {
    for opcode in [0xe0, 0xe1, 0xe2, 0xe3] {
        lockstep(&[opcode, 0x30, 0x90]);
        lockstep(&[0x67, opcode, 0x30, 0x90]);
        lockstep(&[0x90, opcode, 0xc0]);
        lockstep(&[0x90, 0x90, opcode, 0x30, opcode, 0x31]);
    }
}

#[test]
fn call() {
    lockstep(&[0xe8, 0x00, 0x01, 0x00, 0x00]);
    lockstep(&[0x50, 0xe8, 0x00, 0xfe, 0xff, 0xff]); // push rax; call back
    lockstep(&[0x48, 0x89, 0xfc, 0xe8, 0x00, 0x01, 0x00, 0x00]); // mov rsp, rdi: the push may fault
}

#[test]
fn indirect_jumps() {
    lockstep(&[0x48, 0x8b, 0x44, 0x24, 0x08, 0xff, 0xe0]); // mov rax, [rsp+8]; jmp rax
    lockstep(&[0x48, 0x8b, 0x4c, 0x24, 0x08, 0xff, 0xe1]); // the same with rcx
    lockstep(&[0x4c, 0x8b, 0x7c, 0x24, 0x08, 0x41, 0xff, 0xe7]); // the same with r15
    lockstep(&[0xff, 0x64, 0x24, 0x10]); // jmp [rsp+16]
    lockstep(&[0x83, 0xe1, 0x07, 0xff, 0x24, 0xcc]); // and ecx, 7; jmp [rsp+rcx*8]
    lockstep(&[0x83, 0xe1, 0x07, 0x3e, 0x41, 0xff, 0x24, 0xcc]); // notrack jmp [r12+rcx*8]: may fault
    let [a, b, c, d] = (DATA as u32 - CODE as u32 - 6).to_le_bytes();
    lockstep(&[0xff, 0x25, a, b, c, d]); // jmp [rip + data]
    let [a, b, c, d] = (DATA as u32 - CODE as u32 - 10).to_le_bytes(); // and edi, 31; lea rdx, [rip + data]:
    let [edi, ecx] = [
        [0x83, 0xe7, 0x1f, 0x48, 0x8d, 0x15, a, b, c, d],
        [0x83, 0xe1, 0x1f, 0x4c, 0x8d, 5, a, b, c, d],
    ];
    lockstep(&[&edi[..], &[0xff, 0x24, 0xfa]].concat()); // jmp [rdx+rdi*8]
    lockstep(&[&edi[..], &[0x48, 0x8b, 0x3c, 0xfa, 0xff, 0xe7]].concat()); // mov rdi, [rdx+rdi*8]; jmp rdi
    lockstep(&[&ecx[..], &[0x49, 0x8b, 0x0c, 0xc8, 0xff, 0xe1]].concat()); // mov rcx, [r8+rcx*8]; jmp rcx
}

#[test]
fn indirect_calls() {
    lockstep(&[0x48, 0x8b, 0x4c, 0x24, 0x08, 0xff, 0xd1]); // mov rcx, [rsp+8]; call rcx
    lockstep(&[0xff, 0x54, 0x24, 0x08]); // call [rsp+8]
    lockstep(&[0xff, 0x14, 0x24]); // call [rsp]
    lockstep(&[0xff, 0x54, 0x24, 0xf8]); // call [rsp-8]: what the push overwrites
    lockstep(&[0xff, 0x57, 0x10]); // call [rdi+16]: may fault
    lockstep(&[0x48, 0x8b, 0x44, 0x24, 0x08, 0x48, 0x89, 0xfc, 0xff, 0xd0]); // mov rsp, rdi; call rax
    let [a, b, c, d] = (DATA as u32 - CODE as u32 - 6).to_le_bytes();
    lockstep(&[0xff, 0x15, a, b, c, d]); // call [rip + data]
}

#[test]
fn returns() {
    lockstep(&[0xc3]);
    lockstep(&[0xf3, 0xc3]);
    lockstep(&[0xc2, 0x18, 0x00]);
    lockstep(&[0x48, 0x89, 0xfc, 0xc3]); // mov rsp, rdi: may fault
    lockstep(&[0x48, 0x8b, 0x4e, 0x08, 0xc3]); // mov rcx, [rsi+8]; ret
}

#[test]
fn system_calls() {
    lockstep(&[0xb8, 39, 0, 0, 0, 0x0f, 0x05]); // getpid
    lockstep(&[0xb8, 0xff, 0xff, 0, 0, 0x0f, 0x05]); // none
}

#[test]
fn exceptions() {
    lockstep(&[0xff, 0xc0, 0x0f, 0x0b]); // inc eax; ud2
    lockstep(&[0xff, 0xc0, 0xcc, 0x90]); // int3
    lockstep(&[0xff, 0xc0, 0xf4, 0x90]); // hlt
    lockstep(&[0x0f, 0xb6, 0x06, 0x31, 0xd2, 0xf6, 0xf2]); // div by zero
}

#[test]
fn a_transaction_aborts_at_once() {
    let code = [0xc7, 0xf8, 0x40, 0, 0, 0, 0x90];
    if !std::arch::is_x86_feature_detected!("rtm") {
        return lockstep(&code); // both raise
    }
    let mut machine = Machine::new(false);
    let state = machine.state([7; 16], ARITHMETIC);
    let fragment = machine.compile(&code, Context::CANONICAL, common::tool("null"));
    let (end, _) = machine.translated(&code, &fragment, &state);
    assert_eq!(end.pc, machine.app() + CODE + 6 + 0x40);
    assert_eq!((end.state.regs[0], end.state.flags), (0, ARITHMETIC));
    assert_eq!(end.state.regs[4], machine.app() + STACK);
}

/// Pieces of which random straight code is made: flags set and read in all ways,
/// memory that may fault, registers that inserted code borrows.
const PIECES: [&[u8]; 24] = [
    &[0x48, 0x01, 0xc8],             // add rax, rcx
    &[0x48, 0x11, 0xd1],             // adc rcx, rdx
    &[0x39, 0xd8],                   // cmp eax, ebx
    &[0x85, 0xd2],                   // test edx, edx
    &[0x48, 0xff, 0xc1],             // inc rcx
    &[0x48, 0xff, 0xca],             // dec rdx
    &[0x48, 0xd3, 0xe0],             // shl rax, cl
    &[0x48, 0xc1, 0xea, 0x03],       // shr rdx, 3
    &[0x0f, 0x94, 0xc1],             // sete cl
    &[0x0f, 0x42, 0xca],             // cmovb ecx, edx
    &[0x9c, 0x5a],                   // pushfq; pop rdx
    &[0x9f],                         // lahf
    &[0x9e],                         // sahf
    &[0x48, 0x8b, 0x0e],             // mov rcx, [rsi]
    &[0x48, 0x89, 0x17],             // mov [rdi], rdx
    &[0x48, 0x29, 0x0e],             // sub [rsi], rcx
    &[0x52],                         // push rdx
    &[0x59],                         // pop rcx
    &[0x48, 0x8d, 0x4c, 0x11, 0x05], // lea rcx, [rcx+rdx+5]
    &[0xf8],                         // clc
    &[0x48, 0x87, 0xca],             // xchg rdx, rcx
    &[0x48, 0xf7, 0xd9],             // neg rcx
    &[0x72, 0x60],                   // jb out
    &[0x75, 0x50],                   // jne out
];

#[test]
fn random_straight_code() {
    let piece = proptest::sample::select(PIECES.to_vec());
    let code = proptest::collection::vec(piece, 1..20).prop_map(|all| all.concat());
    let machine = RefCell::new(Machine::new(false));
    let mut runner = TestRunner::new(Config {
        cases: 1500,
        failure_persistence: None,
        ..Config::default()
    });
    let input = (
        code,
        values(),
        any::<u64>(),
        proptest::sample::select(TOOLS.to_vec()),
    );
    let result = runner.run(&input, |(code, values, flags, tool)| {
        let machine = &mut *machine.borrow_mut();
        let state = machine.state(place(machine, values), flags);
        compare_any(machine, &code, &state, common::tool(tool));
        Ok(())
    });
    result.unwrap();
}

/// As `compare`, for code that may be longer than a trace: it is cut there.
fn compare_any(machine: &mut Machine, code: &[u8], state: &State, tool: &dyn Tool) {
    let fragment = machine.compile(code, Context::CANONICAL, tool);
    compare(machine, &code[..fragment.source_len as usize], state, tool);
}
