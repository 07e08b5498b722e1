//! Files below `/proc/self` that describe the program, shown as they would be natively.
//!
//! From the lists of mappings (`maps` and `smaps`, proc_pid_maps(5); `smaps_rollup`, `numa_maps`,
//! [`map_files`] and the queries of [`query`]) the runtime's mappings are left out. Pages whose
//! code the VM guards (`ppin_guard`) are shown as writable as the program has made them:
//! garbage collectors and profilers rely on this list. Sizes, signal sets and limits (`status`,
//! `stat`, `statm`, `limits`) are the program's.
//!
//! The kernel makes such a text when it is read. So does this crate: before a read from the start
//! of the file, the descriptor is made to refer to a fresh copy. Other processes see the kernel's
//! text.
#![no_std]
extern crate alloc;

mod limits;
pub mod map_files;
mod mappings;
mod numa;
mod opened;
mod part;
mod proc_files;
mod query;
mod rollup;
mod sizes;
mod status;

pub use opened::{ask, before_read, has_known_name, opened};
