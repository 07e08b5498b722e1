//! What a tool author depends on: the tool API, and help with what every tool
//! needs beside it.
//!
//! - [`prelude`]: all of the API, in one `use`;
//! - [`knobs`]: options that were given, checked against those declared;
//! - [`report`]: results for people and for programs, from one place;
//! - [`table`], [`number`], [`json`]: their parts;
//! - [`mod@records`]: records that translated code has appended to a buffer;
//! - [`output`]: a file that is written while the program runs;
//! - [`log`]: events recorded by many threads, written in order;
//! - [`cells`]: state by thread, or by anything else that is numbered;
//! - [`tool`]: makes the crate an object that `ppin run -t PATH` loads.
//!
//! A tool runs inside the program that it observes, where there is neither libc nor
//! std: it is `no_std` with `alloc`, and writes only through [`prelude::Host`] and
//! [`prelude::Report`]. A tool is tried out in the process of the crate `ppin-testing`, which
//! only its tests depend on: that one needs the compiler, a tool does not.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod cells;
pub mod json;
pub mod knobs;
pub mod log;
pub mod number;
pub mod output;
pub mod plugin;
pub mod prelude;
pub mod records;
pub mod report;
pub mod table;

pub use ppin_api::record;
