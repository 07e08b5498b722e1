//! The runtime's side of the operating system: system calls, memory and its places, files, threads,
//! locks and signals.
//!
//! ```text
//! kernel, filter, call     the syscall instruction and its permits; filters; the runtime's own calls
//! memory/                  mappings, their places, reserves, reads that may fault
//! files/                   files, folders, descriptors, the list of mappings
//! process/                 processes, threads, signals, segments, locks, clocks
//! errno, report            error numbers; the error line that ends a run
//! ```
//!
//! This crate does not know the VM. What it needs from the VM (the pc that calls come from, whether
//! a signal is pending) the callers pass in as values.
//!
//! # Safety
//! A system call can do anything to memory, so the functions that make one say what their
//! callers owe.
#![no_std]
extern crate alloc;

pub mod c;
pub mod call;
pub mod errno;
pub mod files;
pub mod filter;
pub mod kernel;
pub mod memory;
pub mod process;
pub mod report;

pub use call::{call, raw};
pub use errno::{Errno, Result, check};
pub use files::{descriptor, dir, file, map_query, mapped, maps, pagemap, parts};
pub use kernel::{Kernel, Permit};
pub use memory::{budget, heap, limits, mem, page, peek, place, plain, regions, stock, userfault};
use memory::{copy, reserve, spare, stretches};
pub use process::{auxv, frame, futex, lock, proc, processor, segment, siginfo, signals, time};
use process::{copied, fsgs};
