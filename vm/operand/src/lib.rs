//! Other forms of instructions whose memory operand cannot stay as it is, and of parts of them.
//!
//! ```text
//! absolute     an operand that is relative to the instruction becomes an address of 32 bits
//! rebased      an operand on top of a register that holds the base of a segment
//! address      lea of an instruction's operand
//! target       mov of what an indirect branch goes by
//! ```
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod absolute;
pub mod address;
pub mod rebased;
pub mod target;
