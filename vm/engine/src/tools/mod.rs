//! The engine's side of the tool API.
//!
//! ```text
//! host       host services: counters, threads, images, files
//! contents   the bytes of the tools' objects, from their files
//! load       the objects, laid out and opened
//! report     the tool's report and the statistics at the end
//! analysis   calls analysis routines from translated code
//! buffers    hands records of buffers to the tool
//! bridge     from translated code to analysis, in assembly
//! routines   where translated code enters plain routines by itself
//! ```

pub(crate) mod analysis;
pub(crate) mod bridge;
pub(crate) mod buffers;
mod contents;
pub(crate) mod host;
pub(crate) mod load;
pub(crate) mod report;
pub(crate) mod routines;
