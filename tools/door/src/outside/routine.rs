//! Analysis routines of a tool behind the door.
#![allow(unsafe_code)]

use super::state::Copy;
use crate::table::{RoutineRow, parameter};
use alloc::boxed::Box;
use core::any::{Any, TypeId};
use ppin_api::{Call, Function, Outcome, Parameter, Parameters, Routine, StateCopy};

/// Most arguments of a routine.
const MAX_ARGS: usize = Call::MAX_ARGS;

/// A function with as many arguments. What one without a result leaves in its register is anything.
type Widest = extern "C" fn(u64, u64, u64, u64, u64, u64) -> u64;

/// The routine that `row` tells of.
pub fn routine(row: &RoutineRow) -> Routine {
    let name = row.name.text();
    if row.address == 0 {
        return Routine::with_host(name, |_| {});
    }
    let count = row.parameters.min(row.kinds.len());
    let kinds = row.kinds[..count].iter();
    let parameters: alloc::vec::Vec<_> = kinds.map(|kind| parameter_of(*kind)).collect();
    let function: &'static dyn Function = Box::leak(Box::new(Plain {
        address: row.address,
        parameters: Parameters::new(&parameters),
        outcome: outcome_of(row.result),
    }));
    Routine::of(name, function)
}

fn outcome_of(kind: u8) -> Outcome {
    match kind {
        parameter::WORD => Outcome::Word,
        parameter::HALF => Outcome::Half,
        parameter::BOOL => Outcome::Bool,
        _ => Outcome::None,
    }
}

fn parameter_of(kind: u8) -> Parameter {
    match kind {
        parameter::HALF => Parameter::Half,
        parameter::BOOL => Parameter::Bool,
        // Its type is known on the other side only, where arguments are checked.
        parameter::STATE => Parameter::State(TypeId::of::<()>()),
        _ => Parameter::Word,
    }
}

/// A plain function on the other side.
struct Plain {
    address: usize,
    parameters: Parameters,
    outcome: Outcome,
}

impl Function for Plain {
    fn address(&self) -> usize {
        self.address
    }

    fn parameters(&self) -> Parameters {
        self.parameters
    }

    fn outcome(&self) -> Outcome {
        self.outcome
    }

    fn call(&self, states: &mut [&mut dyn Any], scalars: &[u64]) -> u64 {
        let states = states.iter_mut();
        let copies = states.filter_map(|state| state.downcast_mut::<Copy>());
        let addresses = copies.map(|copy| copy.address() as u64);
        let mut all = [0; MAX_ARGS];
        for (to, from) in all.iter_mut().zip(addresses.chain(scalars.iter().copied())) {
            *to = from;
        }
        // SAFETY: the other side says that a function lies there. It takes pointers to states and
        // integers, at most so many, which travel in the same registers (System V ABI).
        let function = unsafe { core::mem::transmute::<usize, Widest>(self.address) };
        let [a, b, c, d, e, f] = all;
        self.outcome.of(function(a, b, c, d, e, f))
    }
}
