//! Whether arguments fit the parameters of a routine.

use crate::function::Parameter;
use crate::insert::{Arg, Refused};
use crate::routine::Routine;
use crate::state::{State, StateId};
use ppin_abi::record::MAX_ARGS;

/// Checks `args` for `routine` of a tool with these `states`.
pub(super) fn check(routine: &Routine, args: &[Arg], states: &[State]) -> Result<(), Refused> {
    let Some(function) = routine.plain() else {
        let states = args.iter().any(|arg| matches!(arg, Arg::State(_)));
        return match args.len() {
            _ if states => Err(Refused::Type),
            0..=MAX_ARGS => Ok(()),
            _ => Err(Refused::Arguments),
        };
    };
    let parameters = function.parameters();
    if parameters.as_slice().len() != args.len() {
        return Err(Refused::Arguments);
    }
    for (parameter, arg) in parameters.as_slice().iter().zip(args) {
        fits(*parameter, *arg, states)?;
    }
    if is_one_passed_twice(args) {
        return Err(Refused::State);
    }
    Ok(())
}

fn fits(parameter: Parameter, arg: Arg, states: &[State]) -> Result<(), Refused> {
    let fits = match (parameter, arg) {
        (Parameter::State(type_id), Arg::State(StateId(id))) => {
            let state = states.get(usize::from(id)).ok_or(Refused::State)?;
            state.type_id() == type_id
        }
        (Parameter::State(_), _) | (_, Arg::State(_)) => false,
        (Parameter::Bool, arg) => matches!(arg, Arg::Const(0 | 1)),
        (Parameter::Word | Parameter::Half, _) => true,
    };
    fits.then_some(()).ok_or(Refused::Type)
}

/// A routine has its states for itself.
fn is_one_passed_twice(args: &[Arg]) -> bool {
    let states = || args.iter().filter(|arg| matches!(arg, Arg::State(_)));
    states().any(|state| states().filter(|other| state == *other).count() > 1)
}
