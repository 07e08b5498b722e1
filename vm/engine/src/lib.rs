//! The engine: reacts to system calls, signals, the start and end of threads and processes, and
//! code without a translation.
//!
//! ```text
//! dispatch    why the VM was entered, where to go on
//! life/       start, exec and end of a process; leaving a process to itself
//! syscall/    calls that the VM must know of, by family
//! signal/     delivery, faults, single steps
//! thread/     how threads begin and end
//! check/      comparing translations with the processor
//! ```
//!
//! # Safety
//! The engine shares an address space with a program that does not know of it. Three rules keep
//! them apart. No libc and no thread-local storage of the app is touched. Memory of the app is read
//! and written through [`ppin_os::peek`]. No mapping is placed where the kernel would put the app's
//! ([`ppin_os::place`]).
#![no_std]
extern crate alloc;

mod check;
mod dispatch;
mod life;
mod signal;
mod syscall;
mod thread;

pub use life::boot;
