//! Whether a limit of the address space leaves room for ppin beside the program.

use crate::failure::Failure;
use nix::sys::resource::{Resource, getrlimit};

/// What ppin needs at least; children under lower limits run natively.
const ROOM: u64 = 32 << 20;

/// Refuses to start a program that would run, but not with ppin in its memory.
pub fn check() -> Result<(), Failure> {
    let (soft, _) = getrlimit(Resource::RLIMIT_AS).unwrap_or((u64::MAX, u64::MAX));
    if soft >= ROOM {
        return Ok(());
    }
    Err(Failure::of_ppin(format!(
        "the limit of {} KiB of address space (ulimit -v) leaves no room for ppin: it needs {} KiB",
        soft >> 10,
        ROOM >> 10,
    )))
}
