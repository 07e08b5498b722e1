//! The virtual machine that runs inside the app.
//!
//! ```text
//! boot        from the injector to the app's first instruction
//! dispatch    why the VM was entered, where to go on
//! glue/       assembly between cache and VM; indirect-branch lookup; the system gate
//! budget      how much memory is ours
//! cache/      memory for fresh code, directory, links, flushing, invalidation
//! install     the one door into the cache for fresh code
//! restore/    persisted units: find, map, admit
//! spool/      freezing into unit files
//! store/      folders and files of the databases, as far as they may be trusted
//! image/      what the app has mapped executable
//! syscall/    calls that the VM must know of, by family
//! signal/     delivery, faults, translation of cache addresses
//! rseq/       restartable sequences
//! thread/     per-thread state, clone, exit
//! confine/    under the app's own filters of system calls
//! follow      taking the runtime along over an exec; obstacle: why not
//! leave/      a process that is traced, or wants our addresses, goes on by itself
//! holdings    which addresses are ours
//! listing/    what the app reads of its own mappings
//! lockstep    telling a tracer where the app is (`run --check`)
//! sample/     comparing with the processor now and then (`run --check=sample`)
//! outlet      where reports, statistics and the log go, and if they cannot
//! tools/      the engine's side of the tool API: the process as a tool sees it, calls, counters
//! sys/        raw system calls
//! ```
//!
//! # Safety
//! Everything here shares an address space with a program that knows nothing of it.
//! Three rules keep them apart: no libc and no thread-local storage of the app's is
//! touched; memory of the app is read and written through [`ppin_os::peek`]; nothing is
//! placed where the kernel would put the app's mappings ([`cache::place`]).
#![no_std]
extern crate alloc;

pub mod boot;
pub mod confine;
mod dispatch;
mod end;
mod follow;
mod leave;
mod lockstep;
mod obstacle;
mod sample;
pub mod signal;
mod syscall;
pub mod thread;
mod tools;
