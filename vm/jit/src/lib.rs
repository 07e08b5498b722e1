//! The pure compiler of ppin: app bytes in, relocatable fragment out.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod api;
mod compile;
mod decode;
pub mod disasm;
mod effects;
mod emit;
mod instrument;
mod liveness;
mod request;
mod rewrite;
mod trace;

pub use compile::compile;
pub use request::{BytesEnd, MAX_TRACE_BYTES, Request};
