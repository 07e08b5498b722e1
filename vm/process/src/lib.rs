//! State of the process and its threads, and the gate between the code cache and the VM.
//!
//! ```text
//! vm           the state that all threads share; vm/locked: its lock
//! thread/      a thread of the app, and the process that it belongs to
//! signal/      signal state: masks, dispositions, pending signals
//! gate/        the assembly between cache and VM; which system calls enter the VM
//! translate    from a cache address to the app state; x87: the app's FPU instruction pointer
//! app_code     executable memory of the app; ours: the runtime's own memory
//! hints        what forked children had to ask for, told to their parent
//! sequences    restartable sequences; pending: held signals
//! counters     what tools count, ended: threads that have ended; states: what tools collect
//! report/      reports, statistics, the log, crash reports; where they go
//! cpuid        what the CPU has answered to `cpuid`
//! config       the configuration that the launcher passes
//! ```
//! This crate only holds state. The engine decides what is done on a system call, a signal or a
//! lookup.
#![no_std]
extern crate alloc;

pub mod app_code;
pub mod buffers;
pub mod config;
pub mod counters;
pub mod cpuid;
pub mod ended;
pub mod first_code;
pub mod gate;
pub mod hints;
pub mod ours;
pub mod pending;
pub mod report;
pub mod sampling;
pub mod sequences;
pub mod signal;
pub mod states;
#[cfg(test)]
mod testing;
pub mod thread;
pub mod translate;
pub mod vm;
pub mod words;
pub mod x87;
