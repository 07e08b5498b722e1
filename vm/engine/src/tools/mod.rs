//! The engine's side of the tool API.
//!
//! ```text
//! host       host services: counters, threads, images, files
//! report     the tool's report and the statistics at the end
//! analysis   calls analysis routines from translated code
//! bridge     from translated code to analysis, in assembly
//! code       reads the machine code of tools
//! routines   where translated code enters plain routines by itself
//! ```

pub(crate) mod analysis;
pub(crate) mod bridge;
pub(crate) mod code;
pub(crate) mod host;
pub(crate) mod report;
pub(crate) mod routines;
