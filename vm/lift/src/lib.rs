//! Reads the machine code of analysis routines: what a routine destroys, so that a call saves just
//! that.
//!
//! ```text
//! code       where machine code is read from
//! function   the instructions of a function that are on the way to its return
//! effects    what a call destroys, callees included
//! thunk      code that calls a routine and keeps what it destroys
//! ```
//! Code that never returns (a panic) destroys nothing that anybody misses, so it is left out.
//! Nothing here runs the code, and what cannot be read counts as destroying everything.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod code;
mod effects;
mod function;
mod registers;
mod thunk;

pub use code::CodeBytes;
pub use effects::{Effects, Survey};
pub use registers::{ARGUMENTS, CALLER_SAVED};
pub use thunk::thunk;
