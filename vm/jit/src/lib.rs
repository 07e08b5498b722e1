//! The pure compiler of ppin: app bytes in, relocatable fragment out.
//!
//! [`compile()`] is the whole of it; it knows no operating system and no address
//! of the process it runs in, so what it makes can be kept and used elsewhere.
//!
//! ```text
//! Request ─ trace.rs ──> decoded instructions     which bytes belong to the trace
//!             │            decode.rs: what each one needs (Kind)
//!             v
//!           instrument/ > what the tool inserts    it looks through the views of ppin-api
//!             v
//!             │            counts merged by block, placed by liveness.rs
//!             v
//!           rewrite/ ──> code for each kind of instruction, one file each
//!             v
//!           emit/ ─────> sections, slots, relocations, exits, pc map ─> Fragment
//! ```
//!
//! Invariants: the same request and tool give the same bytes (no addresses, no hash
//! order); app registers other than those named in a pc-map row are in place at
//! every instruction; nothing is written to the app's stack but what its own
//! instruction writes; every field that can be patched later is aligned.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod compile;
mod constants;
mod decode;
pub mod disasm;
mod effects;
mod emit;
mod instrument;
mod landing;
mod liveness;
pub mod origin;
mod request;
mod rewrite;
mod sequence;
pub mod stores;
mod trace;
mod x87;

pub use compile::{Chosen, choose, compile, compile_chosen};
pub use constants::Constant;
pub use landing::{LandingSlot, compile_landing};
pub use request::{BytesEnd, MAX_TRACE_BYTES, Request, Sequence};
pub use sequence::{SequenceCode, announces, compile_sequence, length};
