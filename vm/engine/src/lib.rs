//! What is done when the program makes a system call, gets a signal, begins and ends threads and
//! processes, or comes to code that has no translation yet.
//!
//! ```text
//! dispatch    why the VM was entered, where to go on
//! life/       from the injector's hand to the end; leaving a process to itself
//! syscall/    calls that the VM must know of, by family
//! signal/     delivery, faults, single steps
//! thread/     how threads begin and end
//! tools/      the engine's side of the tool API
//! check/      comparing translations with the processor
//! ```
//!
//! # Safety
//! Everything here shares an address space with a program that knows nothing of it.
//! Three rules keep them apart: no libc and no thread-local storage of the app's is
//! touched; memory of the app is read and written through [`ppin_os::peek`]; nothing is
//! placed where the kernel would put the app's mappings ([`ppin_os::place`]).
#![no_std]
extern crate alloc;

mod check;
mod dispatch;
mod life;
mod signal;
mod syscall;
mod thread;
mod tools;

pub use life::boot;
