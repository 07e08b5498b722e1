//! What the parts of ppin agree on without depending on each other.
//!
//! The launcher, the injected runtime, the compiler and the code that the
//! compiler emits meet here: address types ([`addr`]), the per-thread area that
//! emitted code reaches through `gs` ([`area`]) and the counters
//! behind it ([`counters`]), the buffers below it ([`buffers`]), the records that emitted stubs
//! hand to the VM ([`record`]), the static context of a fragment ([`context`]),
//! the boot block that the launcher leaves for the runtime ([`boot`]), the mechanisms of the
//! compiler that can be switched off ([`optimize`]), headers of ELF files ([`elf`]), words for
//! errors ([`errno`]), where registers lie that code has borrowed ([`spills`]), answers of `cpuid`
//! ([`cpuid`]), the place of our memory in the program's ([`room`]), and that of the area in a thread's
//! ([`thread`]), how a process is asked to be left ([`leave`]), what
//! `ppin attach` tells the runtime ([`attach`]), and which places `ppin warm --static` wants ([`places`]).
//!
//! Nothing here runs: plain data, no allocation, no operating system.
#![no_std]
#![forbid(unsafe_code)]

pub mod addr;
pub mod area;
pub mod attach;
pub mod boot;
pub mod buffers;
pub mod context;
pub mod counters;
pub mod cpuid;
pub mod elf;
pub mod errno;
pub mod leave;
pub mod optimize;
pub mod places;
pub mod predicted;
pub mod record;
pub mod room;
pub mod spills;
pub mod thread;

/// Most app bytes that one trace covers; more are not looked at.
pub const MAX_TRACE_BYTES: usize = 512;
