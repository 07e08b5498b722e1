//! The engine's side of the tool API.
//!
//! ```text
//! host       host services: counters, threads, images, files
//! report     the tool's report and the statistics at the end
//! analysis   calls analysis routines from translated code
//! buffers    hands records of buffers to the tool
//! bridge     from translated code to analysis, in assembly
//! ```

pub(crate) mod analysis;
pub(crate) mod bridge;
pub(crate) mod buffers;
pub(crate) mod host;
pub(crate) mod report;
