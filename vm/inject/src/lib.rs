//! Carries the runtime into the process image that an `execve` is about to make.
//!
//! Three parties, and the module of each:
//!
//! ```text
//! P  (launch)     the process that executes the program: `ppin run`, or an
//!                 instrumented app whose exec is followed
//! H  (helper)     its short-lived child in the same memory, which traces it over
//!                 the exec, plants the bootstrap and is gone
//! runtime (arrive, load)   what then runs in P before the app's first instruction
//! ```
//!
//! P and H speak through one futex word ([`word`]), P and the runtime through the
//! boot block ([`ppin_abi::boot`]), which [`block`] writes. No allocation, no libc,
//! no thread-local storage: H shares P's memory and P may be any app.
//!
//! H is in a process group of its own: a stop of P's group is not for it. A P that is
//! stopped before its exec is let go and begins anew when it is continued ([`guarded`]).
//!
//! # Why no failure leaves the program running natively in silence
//!
//! - H is dead before the exec: the word says so and P does not execute.
//! - H dies after SEIZE: `PTRACE_O_EXITKILL` takes P along.
//! - The bootstrap cannot be planted: H says why on descriptor 2 and kills P.
//! - The bootstrap cannot map the runtime: it says so and exits with status 125.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod arrive;
#[cfg(feature = "alloc")]
mod become_program;
pub mod block;
pub mod cpu;
pub mod elf;
mod embedded;
mod fds;
mod guarded;
mod helper;
mod launch;
pub mod load;
mod once;
#[cfg(test)]
mod order;
mod plant;
mod ptrace;
mod regs;
#[cfg(feature = "alloc")]
pub mod running;
mod space;
mod spawn;
pub mod sys;
mod word;

#[cfg(feature = "alloc")]
pub use become_program::{Become, Environ};
pub use embedded::embedded_span;
pub use launch::{Carrier, Exec, Failure, Launch, Step, launch, launch_with};
pub use once::launch_once;
pub use space::HelperSpace;
