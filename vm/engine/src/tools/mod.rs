//! The engine's side of the tool API.
//!
//! ```text
//! host       the process as a tool sees it: counters, threads, images, files; its report
//! analysis   calling analysis routines from translated code
//! counters   where counters lie, what ended threads have counted
//! ```

pub mod analysis;
pub mod counters;
pub mod host;
