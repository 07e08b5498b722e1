//! The tools of a run, as the engine has them: loaded, given what they may ask for, called, and asked for their
//! reports.
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

#![no_std]
extern crate alloc;

pub mod analysis;
pub mod bridge;
pub mod buffers;
mod contents;
pub mod host;
pub mod load;
pub mod report;
pub mod routines;
