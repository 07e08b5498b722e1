//! The pure compiler of ppin: app bytes in, relocatable fragment out.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod api;
mod decode;
mod request;

pub use request::{BytesEnd, MAX_TRACE_BYTES, Request};
