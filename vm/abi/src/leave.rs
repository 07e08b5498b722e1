//! How a process under ppin is asked to be left to itself, and how it says that it was.
//!
//! The request is a `SIGTRAP` (the runtime never blocks that) with a code that no program uses: rt_sigqueueinfo(2).
//! It must not be sent to a process that would die of it; the kernel's list of its mappings shows the runtime, between
//! [`crate::room::RUNTIME`] and the mark.

use crate::room;

/// `si_code` of a request by a process that is about to trace the other one.
pub const FOR_TRACER: i32 = -0x7070;
/// The same by the user: `ppin detach`.
pub const FOR_USER: i32 = -0x7071;
/// Address of the mark: a page without permissions, between the runtime and the private memory, which says that
/// the process was left.
pub const MARK: u64 = room::PRIVATE - 0x1000;
