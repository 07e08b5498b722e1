//! From an image file to fragments, without a process.
//!
//! ```text
//! image      the code of a file, by image offset
//! translate  the fragment for one place of an image
//! walk       the fragments of all that given places lead to
//! again      is kept code what is made of the same bytes today?
//! label      what a unit says of its tool
//! tool       the tool that a unit was made for
//! straighten kept traces made anew, by how often their branches were taken
//! explore/   which traces to translate next, beside those that a run has executed
//! workers    who does the work: one after the other, or (feature `std`) all processors
//! ```
//!
//! The core is `no_std`, so that the runtime and the verbs of the command line share it: the
//! runtime asks [`explore`] what to translate before units are frozen, `ppin db verify
//! --recompile` asks [`again`]. Everything here is a function of its arguments: no file is
//! opened, nothing is read but the bytes that are given, and the result does not depend on how
//! many workers there are.
//!
//! What cannot be known without a process: the restartable sequences (rseq(2)) of a program.
//! They are found by descriptors that running code refers to. So whoever keeps what [`mod@walk`]
//! makes must leave out traces that name or enter one.
#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod again;
pub mod explore;
mod image;
mod label;
pub mod straighten;
mod target;
mod tool;
mod translate;
mod walk;
mod workers;

pub use image::Image;
pub use label::Label;
pub use target::Target;
pub use tool::{NoTool, Tools, tool_of};
pub use translate::{Translator, sealed_again};
pub use walk::walk;
#[cfg(feature = "std")]
pub use workers::Threads;
pub use workers::{Alone, Workers};
