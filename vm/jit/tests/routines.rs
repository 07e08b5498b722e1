//! Plain routines: called or in line, they get their arguments and do what they do when they are
//! called from Rust, and the app notices nothing.

mod common;

use common::machine::Machine;
use common::routines::{ROUTINES, Routines, Sums};
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_api::compiler::CodeBytes;
use ppin_api::{About, Arg, IPoint, Reg, Routine, RoutineId, State, StateId, Tool, Trace};
use ppin_lift::body::Why;
use ppin_lift::{Known, lift};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::any::Any;
use std::sync::Mutex;

/// Calls a routine before the only instruction.
struct One(Mutex<(u16, Vec<Arg>)>);

impl Tool for One {
    fn about(&self) -> &'static About {
        &About {
            name: "one",
            summary: "one call",
            knobs: &[],
        }
    }
    fn states(&self) -> &'static [State] {
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
        let (routine, args) = &*self.0.lock().unwrap();
        for ins in trace.ins() {
            ins.insert_call(IPoint::Before, RoutineId(*routine), args)
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

#[test]
fn routines_do_what_they_do_when_rust_calls_them() {
    let machine = std::cell::RefCell::new(Machine::new(false));
    let input = (0..ROUTINES.len()).prop_flat_map(|n| (Just(n), args(n)));
    let state = (proptest::array::uniform16(any::<u64>()), any::<u64>());
    let config = Config {
        cases: 3_000,
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&(input, state), |((n, args), (values, flags))| {
        let machine = &mut *machine.borrow_mut();
        let state = machine.state(values, flags);
        let code = [0x48, 0x8b, 0x04, 0x24]; // mov rax, [rsp]
        let mut expected = Sums::default();
        let numbers: Vec<u64> = args
            .iter()
            .filter_map(|arg| match arg {
                Arg::Const(value) => Some(*value),
                Arg::Reg(reg) => Some(state.regs[*reg as usize]),
                Arg::InsAddr => Some(machine.app() + common::machine::CODE),
                Arg::State(_) => None,
                Arg::ThreadId => Some(common::machine::THREAD),
                _ => unreachable!("not among them"),
            })
            .collect();
        let mut states: Vec<&mut dyn Any> = Vec::new();
        if args.iter().any(|arg| matches!(arg, Arg::State(_))) {
            states.push(&mut expected);
        }
        ROUTINES[n].plain().unwrap().call(&mut states, &numbers);
        let native = machine.native(&code, &state);
        let tool = One(Mutex::new((n as u16, args)));
        for optimize in [Optimize::ALL, Optimize::ALL.without(Optimize::INLINE)] {
            machine.optimize = optimize;
            let fragment = machine.compile(&code, Context::CANONICAL, &tool);
            let (outcome, side) = machine.translated(&code, &fragment, &state);
            prop_assert_eq!(&outcome.state, &native.state);
            prop_assert_eq!(&outcome.memory, &native.memory);
            prop_assert_eq!(side.sums, expected);
        }
        Ok(())
    });
    result.unwrap();
}

/// What becomes of routine `n` with these arguments.
fn lifted(n: usize, known: &[Known]) -> Result<usize, Why> {
    let address = ROUTINES[n].plain().unwrap().address();
    let body = lift(Routines.code().unwrap(), address as u64, known)?;
    Ok(body.path.steps.len())
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
