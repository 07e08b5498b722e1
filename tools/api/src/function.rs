//! Plain functions as analysis routines: what their parameters are follows from their types.

// A function that takes `&mut T` for any lifetime is never one that takes a scalar.
#![allow(coherence_leak_check)]

use core::any::{Any, TypeId};

/// What a parameter takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameter {
    /// `u64`, `i64`, `usize` or `isize`.
    Word,
    /// `u32` or `i32`: the low half of the argument.
    Half,
    /// `bool`: the argument must be a constant, 0 or 1.
    Bool,
    /// `&mut T`: the running thread's copy of a state of this type.
    State(TypeId),
}

/// A type that a parameter of a routine may have, other than a state.
pub trait Scalar: Sized + 'static {
    /// What it is.
    const PARAMETER: Parameter;

    /// The value that a routine gets for an argument.
    fn of(argument: u64) -> Self;
}

macro_rules! scalar {
    ($($type:ty: $parameter:ident),*) => { $(
        impl Scalar for $type {
            const PARAMETER: Parameter = Parameter::$parameter;

            fn of(argument: u64) -> Self {
                argument as Self
            }
        }
    )* };
}

scalar!(u64: Word, i64: Word, usize: Word, isize: Word, u32: Half, i32: Half);

impl Scalar for bool {
    const PARAMETER: Parameter = Parameter::Bool;

    fn of(argument: u64) -> Self {
        argument != 0
    }
}

/// What a routine returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Nothing.
    None,
    /// `u64`, `i64`, `usize` or `isize`.
    Word,
    /// `u32` or `i32`, of which the caller has the low half of a register only.
    Half,
    /// `bool`, of which it has the lowest byte.
    Bool,
}

impl Outcome {
    /// Of a register that holds the result, what the routine says: the rest is anything.
    #[must_use]
    pub const fn of(self, register: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::Word => register,
            Self::Half => register as u32 as u64,
            Self::Bool => register as u8 as u64,
        }
    }
}

/// A type that a routine may return.
pub trait Returned: Sized + 'static {
    /// What it is.
    const OUTCOME: Outcome;

    /// The value as a word: 0 is false.
    fn word(self) -> u64;
}

macro_rules! returned {
    ($($type:ty: $outcome:ident),*) => { $(
        impl Returned for $type {
            const OUTCOME: Outcome = Outcome::$outcome;

            fn word(self) -> u64 {
                Outcome::$outcome.of(self as u64)
            }
        }
    )* };
}

returned!(u64: Word, i64: Word, usize: Word, isize: Word, u32: Half, i32: Half, bool: Bool);

impl Returned for () {
    const OUTCOME: Outcome = Outcome::None;

    fn word(self) -> u64 {
        0
    }
}

/// An `extern "C" fn` with up to six parameters, first up to two states, then scalars, and with a
/// scalar for its result, or none.
pub trait Function: Sync {
    /// Address of its machine code.
    fn address(&self) -> usize;

    /// What its parameters are, in order.
    fn parameters(&self) -> Parameters;

    /// What it returns.
    fn outcome(&self) -> Outcome;

    /// Calls it with these states and scalars, of which there are as many as it takes; its result,
    /// 0 if it has none. For tests of tools: translated code calls the machine code. Does nothing
    /// if they do not fit.
    fn call(&self, states: &mut [&mut dyn Any], scalars: &[u64]) -> u64;
}

/// Parameters of a routine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    all: [Parameter; 6],
    len: u8,
}

impl Parameters {
    /// These, of which there are at most six.
    #[must_use]
    pub fn new(parameters: &[Parameter]) -> Self {
        let mut all = [Parameter::Word; 6];
        all[..parameters.len()].copy_from_slice(parameters);
        let len = parameters.len() as u8;
        Self { all, len }
    }

    /// In order.
    #[must_use]
    pub fn as_slice(&self) -> &[Parameter] {
        &self.all[..usize::from(self.len)]
    }
}

macro_rules! function {
    ([$($state:ident)*] [$($scalar:ident)*]) => {
        impl<$($state: 'static,)* $($scalar: Scalar,)* R: Returned> Function
            for extern "C" fn($(&mut $state,)* $($scalar),*) -> R
        {
            fn address(&self) -> usize {
                *self as usize
            }

            fn parameters(&self) -> Parameters {
                Parameters::new(&[
                    $(Parameter::State(TypeId::of::<$state>()),)*
                    $($scalar::PARAMETER),*
                ])
            }

            fn outcome(&self) -> Outcome {
                R::OUTCOME
            }

            #[allow(non_snake_case, unused_variables)] // one name for a type and its value
            fn call(&self, states: &mut [&mut dyn Any], scalars: &[u64]) -> u64 {
                let ([$($state),*], [$($scalar),*]) = (states, scalars) else {
                    return 0;
                };
                $(let Some($state) = $state.downcast_mut::<$state>() else { return 0 };)*
                self($($state,)* $($scalar::of(*$scalar)),*).word()
            }
        }
    };
}

function!([] []);
function!([][A]);
function!([] [A B]);
function!([] [A B C]);
function!([] [A B C D]);
function!([] [A B C D E]);
function!([] [A B C D E F]);
function!([S] []);
function!([S][A]);
function!([S] [A B]);
function!([S] [A B C]);
function!([S] [A B C D]);
function!([S] [A B C D E]);
function!([S T] []);
function!([S T] [A]);
function!([S T] [A B]);
function!([S T] [A B C]);
function!([S T] [A B C D]);

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn add(sum: &mut u64, half: u32, twice: bool) {
        *sum += u64::from(half) * if twice { 2 } else { 1 };
    }

    extern "C" fn nothing() {}

    extern "C" fn six(_: u64, _: i64, _: usize, _: i32, _: isize, _: bool) {}

    const ADD: &dyn Function = &(add as extern "C" fn(&mut u64, u32, bool));

    #[test]
    fn parameters_follow_from_the_type() {
        let state = Parameter::State(TypeId::of::<u64>());
        let expected = [state, Parameter::Half, Parameter::Bool];
        assert_eq!(ADD.parameters().as_slice(), expected);
        let none: &dyn Function = &(nothing as extern "C" fn());
        assert!(none.parameters().as_slice().is_empty());
        let six: &dyn Function = &(six as extern "C" fn(_, _, _, _, _, _));
        assert_eq!(six.parameters().as_slice().len(), 6);
    }

    extern "C" fn negative() -> i32 {
        -1
    }

    extern "C" fn is_odd(sum: &mut u64) -> bool {
        *sum % 2 == 1
    }

    #[test]
    fn results_follow_from_the_type_too() {
        let negative: &dyn Function = &(negative as extern "C" fn() -> i32);
        let odd: &dyn Function = &(is_odd as extern "C" fn(&mut u64) -> bool);
        assert_eq!(ADD.outcome(), Outcome::None);
        assert_eq!(
            (negative.outcome(), odd.outcome()),
            (Outcome::Half, Outcome::Bool)
        );
        assert_eq!(negative.call(&mut [], &[]), 0xffff_ffff);
        let [mut three, mut four] = [3_u64, 4];
        assert_eq!(odd.call(&mut [&mut three], &[]), 1);
        assert_eq!(odd.call(&mut [&mut four], &[]), 0);
        assert_eq!(odd.call(&mut [], &[]), 0);
    }

    #[test]
    fn what_lies_beside_a_result_is_cut_off() {
        let register = 0x0123_4567_89ab_cd00;
        let all = [Outcome::None, Outcome::Word, Outcome::Half, Outcome::Bool];
        let seen = all.map(|outcome| outcome.of(register));
        assert_eq!(seen, [0, register, 0x89ab_cd00, 0]);
    }

    #[test]
    fn a_call_reaches_the_function_if_its_arguments_fit() {
        let (mut sum, mut other) = (5_u64, 0_i8);
        ADD.call(&mut [&mut sum], &[1 << 32 | 3, 1]);
        assert_eq!(sum, 11);
        ADD.call(&mut [&mut sum], &[1]);
        ADD.call(&mut [&mut other], &[1, 1]);
        assert_eq!(sum, 11);
        assert_ne!(ADD.address(), 0);
    }
}
