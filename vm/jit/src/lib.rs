//! The pure compiler of ppin: app bytes in, relocatable fragment out.
//!
//! [`compile()`] is the whole of it; it knows no operating system and no address
//! of the process it runs in, so what it makes can be kept and used elsewhere.
//!
//! ```text
//! Request ─ trace/ ────> decoded instructions     which bytes belong to the trace
//!             │            decode/: what each one needs (Kind)
//!             v
//!           instrument/ > what the tool inserts    it looks through the views of ppin-api
//!             v
//!           instrument/ > operations for it       counts merged by block, placed by analyse/
//!           lower/ ────>  and for instructions    one rule a file
//!             v            form/: operations on temporaries and app instructions
//!           allocate/ ─> a register for each temporary, and where the app's is kept
//!             v
//!           emit/ ─────> sections, slots, relocations, exits, pc map ─> Fragment
//! ```
//! Beside them: operand/ (other forms of memory operands), sequence/ (restartable sequences,
//! which are not traces but take the same way) and examine/ (answers about app code without
//! translating it).
//!
//! Invariants: the same request and tool give the same bytes (no addresses, no hash
//! order); app registers other than those named in a pc-map row are in place at
//! every instruction; nothing is written to the app's stack but what its own
//! instruction writes; every field that can be patched later is aligned.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod allocate;
mod analyse;
mod compile;
mod decode;
mod emit;
mod examine;
mod form;
mod instrument;
mod lower;
mod operand;
mod request;
mod sequence;
mod trace;

pub use compile::{Chosen, choose, compile, compile_chosen, fates};
pub use decode::constants::Constant;
pub use examine::{disasm, origin, stores};
pub use instrument::Fate;
pub use request::{BytesEnd, MAX_TRACE_BYTES, Request, Sequence};
pub use sequence::{
    LandingSlot, SequenceCode, announces, compile_landing, compile_sequence, length,
};
