//! Indirect branches that come to a trace by the tables of threads. (Those that go there are tried
//! wherever translated code is compared with the app's: `Machine::translated` comes this way.)

mod common;

use common::machine::{CODE, Machine};
use ppin_abi::area::Entry;
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;

const RET: u8 = 0xc3;

#[test]
fn branches_to_other_addresses_go_on_elsewhere() {
    let mut machine = Machine::new(false);
    for optimize in [Optimize::ALL, Optimize::ALL.without(Optimize::UNTAKEN)] {
        machine.optimize = optimize;
        go_on_elsewhere(&mut machine);
    }
}

fn go_on_elsewhere(machine: &mut Machine) {
    let fragment = machine.compile(&[RET], Context::CANONICAL, common::tool("null"));
    assert!(fragment.entry > 0);
    let flags = 0x8d5;
    let state = machine.state([7; 16], flags);
    let own = machine.app() + CODE;
    for target in [
        0,
        1,
        own - 1,
        own + 1,
        own ^ 1 << 32,
        own | 1 << 63,
        u64::MAX,
    ] {
        let (entry, end) = machine.arrive_elsewhere(&fragment, target, &state);
        assert_eq!(entry, Some(Entry::ArrivedElsewhere), "{target:#x}");
        // What the runtime makes of it.
        let [rax, rcx, others @ ..] = end.regs;
        assert_eq!(rcx.wrapping_add(!rax), target);
        assert_eq!(others, state.regs[2..]);
        assert_eq!(end.flags & flags, flags);
    }
}

#[test]
fn code_that_may_change_is_arrived_at_by_landings() {
    let mut machine = Machine::new(false);
    let compared = Context::VOLATILE.with(Context::COMPARED);
    let entry = |machine: &Machine, context| {
        let tool = common::tool("null");
        machine.compile(&[RET], context, tool).entry
    };
    assert_eq!(entry(&machine, compared), 0);
    assert!(entry(&machine, Context::CONTINUATION) > 0);
    machine.optimize = Optimize::ALL.without(Optimize::INDIRECT);
    assert_eq!(entry(&machine, Context::CANONICAL), 0);
}
