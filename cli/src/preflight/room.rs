//! Whether a limit of the address space leaves room for ppin beside the program.

use crate::failure::Failure;
use nix::sys::resource::{Resource, getrlimit};
use ppin_abi::room::LEAST;

/// Refuses to start a program that would run, but not with ppin in its memory.
pub fn check() -> Result<(), Failure> {
    let limits = [
        (Resource::RLIMIT_AS, "address space (ulimit -v)"),
        (Resource::RLIMIT_DATA, "data (ulimit -d)"),
    ];
    for (limit, of) in limits {
        let (soft, _) = getrlimit(limit).unwrap_or((u64::MAX, u64::MAX));
        if soft < LEAST {
            return Err(Failure::of_ppin(format!(
                "the limit of {} KiB of {of} leaves no room for ppin: it needs {} KiB",
                soft >> 10,
                LEAST >> 10,
            )));
        }
    }
    Ok(())
}
