//! Fragments that are entered by calls of the CPU.

mod common;

use common::machine::Machine;
use ppin_abi::area::{ASK_FOR_BITS, BAR, WORD_OF_STACK};
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_relocator::{Fragment, pc_flag};

/// `call` of what follows, `ud2`
const CALL: [u8; 7] = [0xe8, 0, 0, 0, 0, 0x0f, 0x0b];

fn called(machine: &Machine, code: &[u8]) -> Fragment {
    machine.compile(code, Context::CALLED, common::tool("null"))
}

#[test]
fn the_processors_return_address_goes_to_the_return_cache() {
    let mut machine = Machine::new(false);
    // int3
    let code = [0xcc];
    let fragment = called(&machine, &code);
    assert_eq!(fragment.context, Context::CALLED);
    for low in [0, 8, 0x100, 1, 4, 7] {
        let mut state = machine.state([0x77; 16], 0x8d5);
        state.regs[4] -= low;
        let (entry, below, end) = machine.called(&code, &fragment, 0x1234_5678_9abc, &state);
        assert_eq!((entry, below), (0x1234_5678_9abc, 0));
        assert_eq!(end.regs, state.regs, "{low}");
        assert_eq!(end.flags & 0x8d5, state.flags & 0x8d5);
    }
}

#[test]
fn calls_ask_where_they_are_as_the_vm_expects() {
    let machine = Machine::new(false);
    let hot = called(&machine, &[0xcc]).hot;
    let asks = |bytes: &[u8]| bytes == WORD_OF_STACK;
    assert!(hot.windows(WORD_OF_STACK.len()).any(asks));
}

#[test]
fn returns_look_at_their_addresses_as_the_vm_expects() {
    let mut machine = Machine::new(false);
    let looks = |machine: &Machine| {
        let hot = machine
            .compile(&[0xc3], Context::CANONICAL, common::tool("null"))
            .hot;
        let at = |code: &[u8]| hot.windows(code.len()).position(|bytes| bytes == code);
        at(&ASK_FOR_BITS).zip(at(&BAR))
    };
    let (asks, bar) = looks(&machine).expect("both instructions");
    assert_eq!(
        bar,
        asks + ASK_FOR_BITS.len() + 5,
        "ppin_process::gate::ret"
    );
    machine.optimize = machine.optimize.without(Optimize::CANONICAL);
    assert_eq!(looks(&machine), None);
}

#[test]
fn the_trace_begins_behind_that_code() {
    let machine = Machine::new(false);
    let fragment = called(&machine, &[0x90, 0xc3]);
    let mut rows = fragment.pc_map.iter();
    let first = rows.find(|row| row.flags & pc_flag::BOUNDARY != 0).unwrap();
    assert!(first.hot > 0 && first.spilled.is_empty());
    assert_eq!(fragment.hot[first.hot as usize], 0x90);
    assert!(
        fragment
            .pc_map
            .iter()
            .all(|row| row.hot >= first.hot || row.app == 0)
    );
    let first = fragment.pc_map.iter().next();
    assert!(
        first.is_some_and(|row| row.hot == 0),
        "each byte belongs to a row"
    );
}

#[test]
fn exits_of_calls_say_so_if_the_mechanisms_are_on() {
    let mut machine = Machine::new(false);
    let contexts = |machine: &Machine, context| -> Vec<Context> {
        let fragment = machine.compile(&CALL, context, common::tool("null"));
        fragment.exits.iter().map(|exit| exit.context).collect()
    };
    let canonical = Context::CANONICAL;
    assert_eq!(contexts(&machine, canonical)[0], Context::CALLED);
    assert_eq!(contexts(&machine, Context::CALLED)[0], Context::CALLED);
    let compared = Context::VOLATILE.with(Context::COMPARED);
    assert!(
        contexts(&machine, compared)
            .iter()
            .all(|it| !it.contains(Context::CALLED))
    );
    for off in [Optimize::CALLEES, Optimize::RETURNS] {
        machine.optimize = Optimize::ALL.without(off);
        assert!(
            contexts(&machine, canonical)
                .iter()
                .all(|it| *it == canonical)
        );
    }
}

#[test]
fn what_is_no_code_is_not_called() {
    let machine = Machine::new(false);
    let fragment = called(&machine, &[0x06]);
    assert_eq!(
        (fragment.context, fragment.instructions),
        (Context::CANONICAL, 0)
    );
}
