//! The process as the VM knows it.
//!
//! ```text
//! vm           all that threads share, under one lock
//! thread/      a thread of the app, and the process that it belongs to
//! signal/      their share of signal handling: masks, dispositions, what waits
//! gate/        the assembly between cache and VM; which system calls enter the VM
//! translate    from a cache address to the app state it stands for; x87: the same for the FPU
//! app_code     executable memory, as it becomes known; ours: which addresses are ours
//! sequences    restartable sequences; counters, ended: what tools count; pending: held signals
//! report/      reports, statistics, the log, last words; where they go
//! config       what the launcher has asked for
//! ```
//! It decides nothing: what is done on a system call, a signal or a lookup is the engine's.
#![no_std]
extern crate alloc;

pub mod app_code;
pub mod config;
pub mod counters;
pub mod ended;
pub mod gate;
pub mod ours;
pub mod pending;
pub mod report;
pub mod sampling;
pub mod sequences;
pub mod signal;
pub mod thread;
pub mod translate;
pub mod vm;
pub mod words;
pub mod x87;
