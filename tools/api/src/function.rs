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

/// An `extern "C" fn` with up to six parameters: first up to two states, then scalars.
pub trait Function: Sync {
    /// Address of its machine code.
    fn address(&self) -> usize;

    /// What its parameters are, in order.
    fn parameters(&self) -> Parameters;

    /// Calls it with these states and scalars, of which there are as many as it takes. For tests of
    /// tools: translated code calls the machine code. Does nothing if they do not fit.
    fn call(&self, states: &mut [&mut dyn Any], scalars: &[u64]);
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
        impl<$($state: 'static,)* $($scalar: Scalar),*> Function
            for extern "C" fn($(&mut $state,)* $($scalar),*)
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

            #[allow(non_snake_case, unused_variables)] // one name for a type and its value
            fn call(&self, states: &mut [&mut dyn Any], scalars: &[u64]) {
                if let ([$($state),*], [$($scalar),*]) = (states, scalars) {
                    $(let Some($state) = $state.downcast_mut::<$state>() else { return };)*
                    self($($state,)* $($scalar::of(*$scalar)),*);
                }
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
