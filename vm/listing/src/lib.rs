//! What a program reads of itself below `/proc/self`, as it would be without us.
//!
//! Of its mappings (`maps` and `smaps`, proc_pid_maps(5); `smaps_rollup`, `numa_maps`,
//! [`map_files`] and the questions of [`query`]) ours are left out, and pages whose
//! code we guard (`ppin_codecache::guard`) are as writable as the program has made
//! them: collectors and profilers go by this list. Sizes, sets of signals and limits
//! (`status`, `stat`, `statm`, `limits`) are the program's.
//!
//! The kernel makes such a text when it is read, and so do we: a read from the start of
//! the file finds a copy in its place, made in that moment. Other processes see all that
//! there is.
#![no_std]
extern crate alloc;

mod limits;
pub mod map_files;
mod mappings;
mod numa;
mod opened;
mod proc_files;
mod query;
mod rollup;
mod sizes;
mod status;

pub use opened::{ask, before_read, is_named_so, opened};
