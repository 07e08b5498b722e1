//! The engine's side of the tool API.
//!
//! ```text
//! host       the process as a tool sees it: counters, threads, images, files
//! report     what is told at the end
//! analysis   calling analysis routines from translated code
//! bridge     the way there, in assembly
//! ```

pub(crate) mod analysis;
pub(crate) mod bridge;
pub(crate) mod host;
pub(crate) mod report;
