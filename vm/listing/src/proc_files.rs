//! Files of `/proc` that tell of this process.

use ppin_process::vm::shares_memory;

/// `PROC_SUPER_MAGIC`, statfs(2).
pub(crate) const PROC: u64 = 0x9fa0;

/// Whether the file at `path` does.
pub(crate) fn tells_of_us(path: &str) -> bool {
    whom(path).is_some_and(shares_memory)
}

/// The number in `/proc/PID/NAME` or `/proc/PID/task/TID/NAME`.
pub(crate) fn whom(path: &str) -> Option<i32> {
    path.rsplit('/').nth(1)?.parse().ok()
}
