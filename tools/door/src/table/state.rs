//! What a tool collects.

use super::{Each, Row, Text, This};

/// A state that a tool has declared.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StateRow {
    /// Name.
    pub name: Text<'static>,
}

impl Row for StateRow {
    type Lent<'a> = Self;
}

/// A thread's copy of a state.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CopyRow {
    /// The copy, for the functions below; null: there is no such state.
    pub this: This,
    /// Where its value lies.
    pub address: usize,
}

/// A function for each thing that is done with states and their copies.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StateFunctions {
    /// `Tool::states`, in order.
    pub all: extern "C" fn(tool: This, each: Each<StateRow>),
    /// A new copy of state `state`, which the caller has to free.
    pub make: extern "C" fn(tool: This, state: u16) -> CopyRow,
    /// Adds what `other` has collected, a copy of the same state.
    pub add: extern "C" fn(copy: This, other: This),
    /// A copy of a copy, made beside a thread that may change it. The caller has to free it.
    pub snapshot: extern "C" fn(copy: This) -> CopyRow,
    /// Frees a copy.
    pub free: extern "C" fn(copy: This),
}
