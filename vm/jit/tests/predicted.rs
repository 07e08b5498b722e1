//! Jumps and calls through cells.

mod common;

use common::machine::{CODE, Machine};
use ppin_abi::addr::ImageRange;
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_abi::predicted::Slots;
use ppin_relocator::SlotInit;

const FLAGS: u64 = 0x8d5;
const HELD: u64 = 0x1234_5678_9abc;

/// `jmp [cell]` or `call [cell]`, and behind it a cell that holds `value`.
fn code(call: bool, value: u64) -> Vec<u8> {
    let opcode = [0xff, if call { 0x15 } else { 0x25 }, 0, 0, 0, 0];
    [&opcode[..], &value.to_le_bytes()].concat()
}

fn machines() -> impl Iterator<Item = Machine> {
    let all = [Optimize::ALL, Optimize::ALL.without(Optimize::UNTAKEN)];
    all.into_iter().map(|optimize| {
        let mut machine = Machine::new(false);
        machine.optimize = optimize;
        machine
    })
}

#[test]
fn who_finds_the_cell_as_expected_goes_on_with_all_registers() {
    for mut machine in machines() {
        for call in [false, true] {
            let code = code(call, HELD);
            let fragment = machine.compile(&code, Context::CANONICAL, common::tool("null"));
            let mut state = machine.state([7; 16], FLAGS);
            let (there, end) = machine.predicted(&code, &fragment, HELD, &state);
            state.regs[4] -= if call { 8 } else { 0 };
            assert!(there && end.regs == state.regs);
            assert_eq!(end.flags & FLAGS, FLAGS);
        }
    }
}

#[test]
fn who_finds_anything_else_says_what_and_where_it_was_expected() {
    for mut machine in machines() {
        for (call, expected) in [(false, HELD + 1), (true, HELD ^ 1 << 63), (false, 0)] {
            let code = code(call, HELD);
            let fragment = machine.compile(&code, Context::CANONICAL, common::tool("null"));
            let state = machine.state([7; 16], FLAGS);
            let (there, end) = machine.predicted(&code, &fragment, expected, &state);
            let [rax, rcx, others @ ..] = end.regs;
            assert!(!there);
            let code = machine.before(rax);
            let slots = ppin_abi::predicted::slots(rax, &code);
            let first = machine.prediction(&fragment);
            assert_eq!((slots, rcx), (Some(Slots::Compared(first)), HELD));
            let stack = others[2] + if call { 8 } else { 0 };
            assert_eq!(stack, state.regs[4]);
            assert_eq!(end.flags & FLAGS, FLAGS);
        }
    }
}

#[test]
fn at_first_the_trace_itself_is_expected() {
    let machine = Machine::new(false);
    let slots = |code: &[u8], context| {
        let tool = common::tool("null");
        machine.compile(code, context, tool).slots
    };
    let jump = slots(&code(false, 0), Context::CANONICAL);
    let own = ppin_abi::addr::ImageOff(CODE as i32);
    assert_eq!(jump, [SlotInit::Prediction(own), SlotInit::Entry]);
    // Code that may change, and jumps through registers and other cells, know nothing of it.
    let compared = Context::VOLATILE.with(Context::COMPARED);
    assert!(slots(&code(false, 0), compared).is_empty());
    for other in [
        &[0xff, 0xe0][..],
        &[0xff, 0x20],
        &[0x64, 0xff, 0x25, 0, 0, 0, 0],
    ] {
        assert!(slots(other, Context::CANONICAL).is_empty());
    }
}

#[test]
fn a_sealed_cell_is_not_looked_at() {
    for mut machine in machines() {
        machine.sealed = ImageRange::ALL;
        let code = code(false, HELD);
        for context in [Context::CANONICAL, Context::CALLED] {
            let fragment = machine.compile(&code, context, common::tool("null"));
            assert!(matches!(
                fragment.slots[..],
                [SlotInit::Behind(_), SlotInit::App(_)]
            ));
        }
        let fragment = machine.compile(&code, Context::CANONICAL, common::tool("null"));
        let state = machine.state([7; 16], FLAGS);
        let (there, end) = machine.through_sealed(&code, &fragment, true, &state);
        assert!(there && end.regs == state.regs);
        assert_eq!(end.flags & FLAGS, FLAGS);
    }
}

#[test]
fn what_is_only_such_a_jump_passes_calls_on() {
    for mut machine in machines() {
        machine.sealed = ImageRange::ALL;
        let code = code(false, HELD);
        let fragment = machine.compile(&code, Context::CALLED, common::tool("null"));
        let state = machine.state([7; 16], FLAGS);
        // The word of the CPU lies on the stack yet.
        let (there, end) = machine.through_sealed(&code, &fragment, true, &state);
        assert!(there && end.regs == state.regs);
        // If it goes nowhere, it is taken away.
        let (there, end) = machine.through_sealed(&code, &fragment, false, &state);
        assert!(!there);
        assert_eq!((end.regs[1], end.regs[4]), (HELD, state.regs[4] + 8));
        // Not if something comes before it.
        let more = [&[0x90], code.as_slice()].concat();
        let fragment = machine.compile(&more, Context::CALLED, common::tool("null"));
        let (_, end) = machine.through_sealed(&more, &fragment, true, &state);
        assert_eq!(end.regs[4], state.regs[4] + 8);
    }
}

#[test]
fn until_it_is_known_where_a_sealed_cell_leads_the_vm_can_find_out() {
    for mut machine in machines() {
        machine.sealed = ImageRange::ALL;
        for call in [false, true] {
            let code = code(call, HELD);
            let fragment = machine.compile(&code, Context::CANONICAL, common::tool("null"));
            let state = machine.state([7; 16], FLAGS);
            let (there, mut end) = machine.through_sealed(&code, &fragment, false, &state);
            end.regs[4] += if call { 8 } else { 0 };
            let [rax, rcx, others @ ..] = end.regs;
            assert!(!there && others == state.regs[2..]);
            let before = machine.before(rax);
            let first = machine.prediction(&fragment);
            let slots = ppin_abi::predicted::slots(rax, &before);
            assert_eq!((slots, rcx), (Some(Slots::Sealed(first)), HELD));
            assert_eq!(end.flags & FLAGS, FLAGS);
        }
    }
}

#[test]
fn only_branches_through_cells_of_the_sealed_part_are_made_for_it() {
    let mut machine = Machine::new(false);
    machine.sealed = ImageRange::ALL;
    let sealed = |machine: &Machine, code: &[u8], context| {
        let fragment = machine.compile(code, context, common::tool("null"));
        ppin_relocator::sealed_cells(&fragment.slots)
            .next()
            .is_some()
    };
    assert!(sealed(&machine, &code(false, 0), Context::CANONICAL));
    let compared = Context::VOLATILE.with(Context::COMPARED);
    assert!(!sealed(&machine, &code(false, 0), compared));
    assert!(sealed(&machine, &code(true, 0), Context::CANONICAL));
    machine.optimize = Optimize::ALL.without(Optimize::SEALED);
    assert!(!sealed(&machine, &code(false, 0), Context::CANONICAL));
    (machine.optimize, machine.sealed) = (Optimize::ALL, ImageRange::NONE);
    assert!(!sealed(&machine, &code(false, 0), Context::CANONICAL));
}
