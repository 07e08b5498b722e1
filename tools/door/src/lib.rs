//! The door between ppin and a tool that is loaded at run time.
//!
//! Both sides are written in Rust, but by compilers of different versions, which agree on nothing
//! but C's rules. So all that crosses is plain data with C's layout, and C functions; no trait
//! object, no `Vec` and no `String` does. On each side an adapter makes the API of it:
//!
//! ```text
//!            ppin                       |                  the tool's object
//! engine, jit -> dyn Tool = Plugged  ---|-> table::Tool ->    inside: T: Tool
//!                Source              <--|-- table::Code       Trace
//!                Insertions          <--|-- table::Inserter
//!                dyn Host            <--|-- table::Host       dyn Host
//!                dyn Report          <--|-- table::Report     dyn Report
//!                allocator           <--|-- table::Services   #[global_allocator]
//! ```
//!
//! - `table/`: the definitions, a file for each subject;
//! - `inside/`: the tool's side, which `ppin_sdk::tool!` builds into an object;
//! - `outside/`: ppin's side: [`Plugged`], a `Tool` whose code lies in an object;
//! - [`Several`]: several tools as one.
//!
//! # Adding a subject
//! A new kind of insertion, service or callback needs: a `repr(C)` row for its data in `table/`,
//! and a function in the table of its subject; a function in `inside/` and one in `outside/` that
//! translate the row from and to the API's type; the sum of indices in `several.rs`, if it has any;
//! and one more [`ppin_plugin::door::VERSION`]. A callback is a function in `table::Functions`,
//! which ends the door.
//!
//! # Safety
//! An object that was accepted ([`ppin_plugin::Card::read`]) has the tables of this very version,
//! so each function in them has the signature that is declared here. Pointers in arguments are
//! valid for the call, and nobody keeps them; what is kept for good (a tool's state, the table of
//! [`table::Services`]) is said where it is passed. Numbers that stand for something (registers,
//! opcodes, kinds) are checked on arrival, and what is unknown is refused. A panic does not cross:
//! both sides are compiled with `panic = "abort"`.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]
extern crate alloc;

mod address;
pub mod inside;
mod outside;
mod several;
pub mod table;

#[cfg(test)]
mod tests;

pub use outside::{Plugged, opcodes};
pub use several::{Several, TooMany, identity, joined};
