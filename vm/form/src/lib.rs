//! The intermediate form: what stands between a chosen trace and its code.
//!
//! ```text
//! Begin 0             mov [rdi], rax             an app instruction and what was inserted
//!   Take t0             one of rcx, rdx, ...     before it, on temporaries
//!   LoadCell t0         gs:[0x100]
//!   Lea t0              t0 + 3
//!   StoreCell           gs:[0x100], t0
//!   Give t0
//!   Itself
//!   App 0                                        the instruction itself
//! Begin 1             ret                        one that a rule has taken apart
//!   Take t1             rcx
//!   Pop t1
//!   Jump IblRet
//! ```
//! Registers of the app hold the app's values, but for those that are given to temporaries
//! between `Take` and `Give`. Which ones these are, and where the app's values are kept
//! meanwhile, is not said here: [`allocate`] decides it, and checks it.
//!
//! Tools' insertions (`ppin-jit`) and the rules for app instructions (`ppin-lower`) write the
//! form, and the emitter of `ppin-jit` makes it code. The form is made while the program waits: an
//! operation is a few bytes, and the form of a trace one allocation as a rule.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod allocate;
mod cases;
mod effect;
mod few;
mod form;
mod op;
mod temp;
pub mod uses;

pub use cases::{By, CaseJump};
pub use effect::Effect;
pub use few::Few;
pub use form::{COMPARED_AT_ONCE, Form, Record, SequenceSlots};
pub use form::{ins_context, pairs_returns};
pub use op::{Again, Cell, InsId, Label, LiftedUses, Op, RecordId, Reg, Sum, Width};
pub use ppin_decode::{ARGUMENTS, Gpr, RegSet};
pub use temp::{Living, Need, Temp, Temps};
