//! Files of `/proc` that describe this process.

use ppin_process::vm::shares_memory;

/// Whether the file at `path` describes this process, or one that shares its memory.
pub(crate) fn describes_us(path: &str) -> bool {
    subject(path).is_some_and(shares_memory)
}

/// The process or thread id in `/proc/PID/NAME` or `/proc/PID/task/TID/NAME`.
pub(crate) fn subject(path: &str) -> Option<i32> {
    path.rsplit('/').nth(1)?.parse().ok()
}
