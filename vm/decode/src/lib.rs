//! What app instructions are: the compiler's first stage, and what else can be said of app code
//! without translating it.
//!
//! ```text
//! ins        one instruction, and the reader of many
//! kind       which rule of the compiler an instruction needs
//! predicate  whether an instruction does its work
//! effects    flags and memory: what an instruction reads, writes, waits for
//! register   general registers, and sets of them
//! touched    which of them an instruction needs or overwrites
//! x87        the fields of the x87 state that name an address
//! constants  constants that name a place of the image
//! tables     jumps by a table at a known place
//!
//! disasm     text of app code and of fragments
//! stores     where an instruction stores
//! based      stores whose place a register and a constant say
//! origin     which branch led somewhere
//! ```
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod based;
pub mod constants;
pub mod disasm;
pub mod effects;
mod ins;
mod kind;
pub mod origin;
mod predicate;
mod register;
pub mod stores;
pub mod tables;
pub mod top;
pub mod touched;
pub mod x87;

pub use ins::{Ins, InsReader, MAX_INS_LEN, NoIns, prepare};
pub use kind::Kind;
pub use predicate::Predicate;
pub use register::{ARGUMENTS, Gpr, RegSet};
