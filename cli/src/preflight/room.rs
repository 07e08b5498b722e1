//! Whether a limit of the address space leaves room for ppin beside the program.

use crate::failure::Failure;
use nix::sys::resource::{Resource, getrlimit};
use ppin_abi::room::{LEAST, allowed};

/// Refuses to start a program that would run, but not with ppin in its memory.
pub fn check() -> Result<(), Failure> {
    let limits = [
        (Resource::RLIMIT_AS, "address space (ulimit -v)"),
        (Resource::RLIMIT_DATA, "data (ulimit -d)"),
    ];
    for (limit, of) in limits {
        let (soft, hard) = getrlimit(limit).unwrap_or((u64::MAX, u64::MAX));
        let room = allowed(limit == Resource::RLIMIT_DATA, soft, hard);
        if room < LEAST {
            return Err(Failure::of_ppin(format!(
                "the limit of {} KiB of {of} leaves no room for ppin: it needs {} KiB",
                room >> 10,
                LEAST >> 10,
            )));
        }
    }
    Ok(())
}
