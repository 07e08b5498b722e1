//! What is still alive at each point of a trace.
//!
//! ```text
//! registers    which ones inserted code may use without keeping what the app has in them
//! next         what becomes of the value of a register: until when it may stay elsewhere
//! flags        which arithmetic flags somebody may still read
//! beyond       the same where a branch leads out of the trace
//! apart        whether stores of a trace meet its own source
//! ```
//! It sees instructions as the decoder does, and knows nothing of how they are translated.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod apart;
pub mod beyond;
pub mod flags;
pub mod next;
pub mod registers;
