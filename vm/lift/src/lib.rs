//! Reads the machine code of analysis routines: what a routine destroys, so that a call saves just
//! that; and its code in a form that can stand in other code, with what is known of its arguments
//! put in.
//!
//! ```text
//! lift       from a routine to a body: walk (the ways through it), step (one instruction),
//!            address, fold (what is known), keep (what is not), values, prune (what is dead),
//!            flagless (without flags), operand (what one is)
//! body       what comes of it
//! function   the instructions of a function that are on the way to its return
//! decide     what a routine says that decides
//! effects    what a call destroys, callees included
//! thunk      code that calls a routine and keeps what it destroys
//! ```
//! Code that never returns (a panic) destroys nothing that anybody misses, so it is left out.
//! Nothing here runs the code, and what cannot be read counts as destroying everything.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod address;
pub mod body;
#[cfg(test)]
mod code;
mod decide;
mod effects;
mod fixed;
mod flagless;
mod fold;
mod function;
mod keep;
mod lift;
mod operand;
mod prune;
mod registers;
mod step;
mod thunk;
mod values;
mod walk;

pub use effects::{Effects, Survey};
pub use lift::{Body, Known, Wanted, lift};
pub use ppin_api::compiler::CodeBytes;
pub use registers::{ARGUMENTS, CALLER_SAVED};
pub use thunk::thunk;
