//! Descriptor 2: whether its file is still the one from the start, and the duplicate that replaces
//! it.

use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use ppin_os::file::{self, Stat};

/// The file that descriptor 2 was at start: device and inode.
static STDERR: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Device and inode of a descriptor.
pub(crate) fn identity(fd: i32) -> Option<(u64, u64)> {
    file::stat_fd(fd)
        .ok()
        .map(|Stat { dev, ino, .. }| (dev, ino))
}

/// Remembers which file descriptor 2 is.
pub fn remember() {
    if let Some((dev, ino)) = identity(2) {
        STDERR[0].store(dev, Ordering::Relaxed);
        STDERR[1].store(ino, Ordering::Relaxed);
    }
}

/// Whether descriptor 2 is still open for the same file as at start.
#[must_use]
pub fn is_the_first() -> bool {
    let then = (
        STDERR[0].load(Ordering::Relaxed),
        STDERR[1].load(Ordering::Relaxed),
    );
    identity(2) == Some(then)
}

/// A duplicate of descriptor 2, which the app has closed; -1: none.
static DUPLICATE: AtomicI32 = AtomicI32::new(-1);

/// The descriptor to write a report to instead of 2, if the app has closed that.
#[must_use]
pub fn duplicate() -> Option<i32> {
    Some(DUPLICATE.load(Ordering::Relaxed)).filter(|fd| *fd >= 0)
}

/// Sets the duplicate of descriptor 2 (`None`: there is none).
pub fn keep_duplicate(fd: Option<i32>) {
    DUPLICATE.store(fd.unwrap_or(-1), Ordering::Relaxed);
}
