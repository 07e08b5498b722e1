//! Where the thread area ([`crate::area`]) lies in a thread's memory, which begins with a page:
//!
//! ```text
//! 0x0000  the engine's own structure
//! 0x0880  the area, at which gs points: what is short
//! 0x1000  its tables
//! ```
//! What the VM and emitted code write to all the time lies in one page then: a forked child and its
//! parent copy each page that they write to.

/// Bytes of the engine's own structure, before the area.
pub const BEFORE: u32 = 0x880;
