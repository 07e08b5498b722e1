//! Plain routines: called or in line, they get their arguments and do what they do when they are
//! called from Rust, and the app notices nothing.

mod common;

use common::capture::State;
use common::machine::Machine;
use common::routines::{DECIDERS, ROUTINES, Routines, Sums};
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_api::compiler::CodeBytes;
use ppin_api::{About, Arg, IPoint, Reg, Routine, RoutineId, StateId, Tool, Trace};
use ppin_lift::body::Why;
use ppin_lift::{Known, Wanted, lift};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};
use std::any::Any;

/// A routine and what it is called with.
type Called = (u16, Vec<Arg>);

/// Calls a routine before the only instruction; with a condition, if there is one, or with its result
/// put into a register.
#[derive(Default)]
struct One {
    predicated: bool,
    into: Option<Reg>,
    condition: Option<Called>,
    call: Called,
}

impl Tool for One {
    fn about(&self) -> &'static About {
        &About {
            name: "one",
            summary: "one call",
            knobs: &[],
        }
    }
    fn states(&self) -> &'static [ppin_api::State] {
        Routines.states()
    }
    fn routines(&self) -> &'static [Routine] {
        ROUTINES
    }
    fn code(&self) -> Option<&dyn CodeBytes> {
        // (It lives as long as the test.)
        Routines.code().map(|_| ROUTINES_CODE.code().expect("code"))
    }
    fn instrument(&self, trace: &Trace<'_>) {
        let (routine, args) = &self.call;
        let routine = RoutineId(*routine);
        for ins in trace.ins() {
            if let Some(reg) = self.into {
                let inserted = ins.insert_call_into(IPoint::Before, reg, routine, args);
                inserted.unwrap();
                continue;
            }
            match &self.condition {
                None if self.predicated => {
                    ins.insert_predicated_call(IPoint::Before, routine, args)
                }
                None => ins.insert_call(IPoint::Before, routine, args),
                Some((decider, with)) => ins
                    .insert_if(IPoint::Before, RoutineId(*decider), with)
                    .and_then(|decided| decided.then(routine, args)),
            }
            .unwrap();
        }
    }
}

static ROUTINES_CODE: Routines = Routines;

/// Arguments for routine `n`; numbers small enough for it.
fn args(n: usize) -> impl Strategy<Value = Vec<Arg>> {
    let reg = (0..16_usize).prop_map(|n| Arg::Reg(Reg::ALL[n]));
    let number = prop_oneof![any::<u64>(), 0..64_u64].prop_map(Arg::Const);
    let any = prop_oneof![reg, number, Just(Arg::InsAddr), Just(Arg::ThreadId)];
    let parameters = ROUTINES[n].plain().unwrap().parameters();
    let count = parameters.as_slice().len();
    proptest::collection::vec((any, 0..16_u64), count).prop_map(move |all| {
        let typed = all.into_iter().zip(parameters.as_slice()).enumerate();
        let one = |(place, ((any, small), parameter)): (usize, ((Arg, u64), &_))| match parameter {
            ppin_api::Parameter::State(_) => Arg::State(StateId(0)),
            ppin_api::Parameter::Bool => Arg::Const(small % 2),
            // Routine 3 indexes with it.
            _ if n == 3 && place == 1 => Arg::Const(small),
            _ => any,
        };
        typed.map(one).collect()
    })
}

/// What Rust makes of a call of routine `n` in `state`: its result.
fn in_rust(machine: &Machine, n: usize, args: &[Arg], state: &State, sums: &mut Sums) -> u64 {
    let number = |arg: &Arg| match arg {
        Arg::Const(value) => Some(*value),
        Arg::Reg(reg) => Some(state.regs[*reg as usize]),
        Arg::InsAddr => Some(machine.app() + common::machine::CODE),
        Arg::State(_) => None,
        Arg::ThreadId => Some(common::machine::THREAD),
        _ => unreachable!("not among them"),
    };
    let numbers: Vec<u64> = args.iter().filter_map(number).collect();
    let mut states: Vec<&mut dyn Any> = Vec::new();
    if args.iter().any(|arg| matches!(arg, Arg::State(_))) {
        states.push(sums);
    }
    ROUTINES[n].plain().unwrap().call(&mut states, &numbers)
}

/// mov rax, [rsp]; and one that looks at the flags: adc rax, rbx
const PLAIN: &[&[u8]] = &[&[0x48, 0x8b, 0x04, 0x24], &[0x48, 0x11, 0xd8]];

/// Runs each of `codes` natively and under `tool`, called and in line; all that the app can see is
/// the same, and the state is as `expected`. Natively, a register that the tool changes is `changed`
/// before.
fn check(
    machine: &mut Machine,
    codes: &[&[u8]],
    tool: &One,
    state: &State,
    expected: Sums,
) -> TestCaseResult {
    check_changed(machine, codes, tool, [state, state], expected)
}

fn check_changed(
    machine: &mut Machine,
    codes: &[&[u8]],
    tool: &One,
    [changed, state]: [&State; 2],
    expected: Sums,
) -> TestCaseResult {
    for code in codes {
        let native = machine.native(code, changed);
        for optimize in [Optimize::ALL, Optimize::ALL.without(Optimize::INLINE)] {
            machine.optimize = optimize;
            let fragment = machine.compile(code, Context::CANONICAL, tool);
            let (outcome, side) = machine.translated(code, &fragment, state);
            prop_assert_eq!(&outcome.state, &native.state);
            prop_assert_eq!(&outcome.memory, &native.memory);
            prop_assert_eq!(side.sums, expected);
        }
    }
    Ok(())
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    })
}

fn registers() -> impl Strategy<Value = ([u64; 16], u64)> {
    (proptest::array::uniform16(any::<u64>()), any::<u64>())
}

#[test]
fn routines_do_what_they_do_when_rust_calls_them() {
    let machine = std::cell::RefCell::new(Machine::new(false));
    let input = (0..ROUTINES.len()).prop_flat_map(|n| (Just(n), args(n)));
    let result = runner(2_000).run(&(input, registers()), |((n, args), (values, flags))| {
        let machine = &mut *machine.borrow_mut();
        let state = machine.state(values, flags);
        let mut expected = Sums::default();
        in_rust(machine, n, &args, &state, &mut expected);
        let tool = One {
            call: (n as u16, args),
            ..One::default()
        };
        check(machine, PLAIN, &tool, &state, expected)
    });
    result.unwrap();
}

#[test]
fn what_is_decided_about_is_called_if_the_result_is_not_0() {
    let machine = std::cell::RefCell::new(Machine::new(false));
    let called = |range: std::ops::Range<usize>| range.prop_flat_map(|n| (Just(n), args(n)));
    let input = (called(DECIDERS..ROUTINES.len()), called(0..ROUTINES.len()));
    let decided = std::cell::Cell::new([0; 2]);
    let result = runner(4_000).run(&(input, registers()), |(calls, (values, flags))| {
        let machine = &mut *machine.borrow_mut();
        let state = machine.state(values, flags);
        let ((decider, with), (n, args)) = calls;
        let mut expected = Sums::default();
        let yes = in_rust(machine, decider, &with, &state, &mut expected) != 0;
        if yes {
            in_rust(machine, n, &args, &state, &mut expected);
        }
        let mut counts = decided.get();
        counts[usize::from(yes)] += 1;
        decided.set(counts);
        let tool = One {
            condition: Some((decider as u16, with)),
            call: (n as u16, args),
            ..One::default()
        };
        check(machine, PLAIN, &tool, &state, expected)
    });
    result.unwrap();
    let counts = decided.get();
    assert!(counts.iter().all(|count| *count > 400), "{counts:?}");
}

#[test]
fn a_result_is_found_in_its_register() {
    let machine = std::cell::RefCell::new(Machine::new(false));
    let called = (DECIDERS..ROUTINES.len()).prop_flat_map(|n| (Just(n), args(n)));
    let register = (0..16_usize).prop_filter("rsp stays", |n| *n != Reg::Rsp as usize);
    let input = (called, register.prop_map(|n| Reg::ALL[n]));
    let result = runner(4_000).run(&(input, registers()), |(input, (values, flags))| {
        let machine = &mut *machine.borrow_mut();
        let ((n, args), reg) = input;
        let state = machine.state(values, flags);
        let mut expected = Sums::default();
        let mut changed = state;
        changed.regs[reg as usize] = in_rust(machine, n, &args, &state, &mut expected);
        let tool = One {
            into: Some(reg),
            call: (n as u16, args),
            ..One::default()
        };
        check_changed(machine, PLAIN, &tool, [&changed, &state], expected)
    });
    result.unwrap();
}

/// Whether a condition holds, by its number in opcodes.
fn holds(condition: u8, flags: u64) -> bool {
    let is = |bit: u32| flags >> bit & 1 == 1;
    let less = is(7) != is(11);
    let positive = match condition >> 1 {
        0 => is(11),
        1 => is(0),
        2 => is(6),
        3 => is(0) || is(6),
        4 => is(7),
        5 => is(2),
        6 => less,
        _ => less || is(6),
    };
    positive != (condition & 1 == 1)
}

#[test]
fn predicated_calls_are_made_if_the_instruction_does_its_work() {
    // (In low memory, where addresses of 32 bits lead somewhere.)
    let machine = std::cell::RefCell::new(Machine::new(true));
    let called = (0..DECIDERS).prop_flat_map(|n| (Just(n), args(n)));
    let input = (called, 0..18_u8, 0..3_u64, any::<bool>());
    let made = std::cell::Cell::new([0; 2]);
    let result = runner(4_000).run(&(input, registers()), |(input, (mut values, flags))| {
        let machine = &mut *machine.borrow_mut();
        let ((n, args), kind, count, far) = input;
        let narrow = kind == 17;
        values[7] = machine.app() + common::machine::DATA;
        values[1] = count;
        if far {
            // With no repetition nothing faults; ecx is looked at only where it counts.
            values[7] = 0x10;
            values[1] |= if narrow { 7 << 32 } else { 0 };
        }
        let state = machine.state(values, flags & !0x400);
        let cmov = [0x48, 0x0f, 0x40 | kind & 15, 0xc3];
        let (code, yes): (&[u8], bool) = match kind {
            16 => (&[0xf3, 0x48, 0xab], count != 0),
            17 => (&[0x67, 0xf3, 0xaa], count != 0),
            condition => (&cmov, holds(condition, state.flags)),
        };
        let mut expected = Sums::default();
        if yes {
            in_rust(machine, n, &args, &state, &mut expected);
        }
        let mut counts = made.get();
        counts[usize::from(yes)] += 1;
        made.set(counts);
        let tool = One {
            predicated: true,
            call: (n as u16, args),
            ..One::default()
        };
        check(machine, &[code], &tool, &state, expected)
    });
    result.unwrap();
    let counts = made.get();
    assert!(counts.iter().all(|count| *count > 400), "{counts:?}");
}

/// What becomes of routine `n` with these arguments.
fn lifted(n: usize, known: &[Known]) -> Result<usize, Why> {
    let address = ROUTINES[n].plain().unwrap().address();
    let body = lift(
        Routines.code().unwrap(),
        address as u64,
        known,
        Wanted::Deeds,
    )?;
    Ok(body.path.steps.len())
}

/// The same of one that decides.
fn decides(n: usize, known: &[Known]) -> Result<usize, Why> {
    let function = ROUTINES[n].plain().unwrap();
    let wanted = Wanted::Decision(function.outcome());
    let body = lift(
        Routines.code().unwrap(),
        function.address() as u64,
        known,
        wanted,
    )?;
    Ok(body.path.steps.len())
}

#[test]
fn ordinary_deciders_are_lifted() {
    use Known::{Nothing, Number, State};
    for (n, known) in [
        (DECIDERS, &[State, Nothing][..]),
        (DECIDERS + 1, &[State, Nothing]),
        (DECIDERS + 2, &[Nothing, Nothing]),
        (DECIDERS + 3, &[State, Nothing, Number(0)]),
        (DECIDERS + 4, &[State]),
    ] {
        assert!(decides(n, known).is_ok(), "{n}: {:?}", decides(n, known));
    }
}

#[test]
fn ordinary_routines_are_lifted() {
    use Known::{Nothing, Number, State};
    assert_eq!(lifted(0, &[]), Ok(0));
    // The address of the state, and one instruction.
    assert_eq!(lifted(1, &[State]), Ok(2));
    assert_eq!(lifted(3, &[State, Number(7)]), Ok(2));
    for (n, known) in [
        (2, &[State, Nothing, Nothing][..]),
        (4, &[State, Nothing, Nothing]),
        (5, &[State, Number(4), Nothing]),
        (5, &[State, Number(8), Nothing]),
        (6, &[State, Nothing, Number(1)]),
        (7, &[State, Nothing, Number(5)]),
        (8, &[State, Nothing, Nothing, Nothing, Nothing]),
    ] {
        assert!(lifted(n, known).is_ok(), "{n}: {:?}", lifted(n, known));
    }
    // A panic for certain.
    assert_eq!(lifted(3, &[State, Number(16)]), Err(Why::Calls));
}
