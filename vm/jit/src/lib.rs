//! The pure compiler of ppin: app bytes in, relocatable fragment out.
//!
//! [`compile()`] is the whole of it; it knows no operating system and no address
//! of the process it runs in, so what it makes can be kept and used elsewhere.
//!
//! ```text
//! Request ─ trace/ ────> decoded instructions     which bytes belong to the trace
//!             │            ppin-decode: what each one needs (Kind)
//!             v
//!           instrument/ > what the tool inserts    it looks through the views of ppin-api
//!             v
//!           instrument/ > operations for it       counts merged by block, placed by ppin-liveness
//!           ppin-lower ─> and for instructions    one rule a file
//!             v            ppin-form: operations on temporaries and app instructions,
//!             │            a register for each temporary, and where the app's is kept
//!             v
//!           emit/ ─────> sections, slots, relocations, exits, pc map ─> Fragment
//! ```
//! Beside them: ppin-operand (other forms of memory operands) and sequence/ (restartable sequences,
//! which are not traces but take the same way).
//!
//! Invariants: the same request and tool give the same bytes (no addresses, no hash
//! order); app registers other than those named in a pc-map row are in place at
//! every instruction; nothing is written to the app's stack but what its own
//! instruction writes; every field that can be patched later is aligned.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod compile;
mod emit;
mod instrument;
mod request;
mod sequence;
mod trace;

pub use compile::{Chosen, choose, compile, compile_chosen, fates};
pub use instrument::{Bodies, Fate, Part};
pub use request::{BytesEnd, MAX_TRACE_BYTES, Request, Sequence};
pub use sequence::{
    LandingSlot, SequenceCode, announces, compile_landing, compile_sequence, length,
};
pub use trace::Branch;
