//! What the runtime asks of the kernel, and where it lies in the program's address space.
//!
//! ```text
//! kernel, filter, call     the system-call instruction; what the app's filters allow; calls of ours
//! memory/                  mappings, their places, reserves for hard times, reads that may fault
//! files/                   files, folders, descriptors, the list of mappings
//! process/                 processes, threads, signals, segments, locks, clocks
//! errno, report            error numbers; the one line that ends a run
//! ```
//!
//! Nothing here knows of the VM. What it must know of it (where calls come from, whether a
//! signal waits) its callers hand over as values.
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
pub use files::{descriptor, dir, file, mapped, maps};
pub use kernel::app_call;
pub use memory::{budget, heap, limits, mem, page, peek, place, plain, regions, stock, userfault};
use memory::{copy, reserve, spare, stretches};
pub use process::{auxv, frame, futex, lock, proc, segment, siginfo, signals, time};
use process::{copied, fsgs};
