//! Descriptors of ours in the app's table: few, short-lived and out of its way.
#![allow(unsafe_code)]

use crate::sys::{Errno, Kernel, check, errno};
use linux_raw_sys::general::{__NR_close, __NR_fcntl, F_DUPFD_CLOEXEC, F_SETFD};

/// Where ours go: above what programs number by hand, below 64, up to which the
/// kernel's table of a fresh process needs no growing (`FDSize` would show it).
const HIGH: usize = 56;

/// Moves `fd` up and out of the way; it stays where it is if the limit forbids.
pub fn raise<K: Kernel>(kernel: &mut K, fd: i32) -> i32 {
    let args = [fd as usize, F_DUPFD_CLOEXEC as usize, HIGH, 0, 0, 0];
    // SAFETY: duplicates a descriptor that is ours.
    match check(unsafe { kernel.call(__NR_fcntl, args) }) {
        Ok(high) => {
            close(kernel, fd);
            high as i32
        }
        Err(_) => fd,
    }
}

/// Lets `fd` survive the exec.
pub fn keep_over_exec<K: Kernel>(kernel: &mut K, fd: i32) -> Result<(), Errno> {
    let args = [fd as usize, F_SETFD as usize, 0, 0, 0, 0];
    // SAFETY: changes a flag of a descriptor that is ours.
    check(unsafe { kernel.call(__NR_fcntl, args) }).map(drop)
}

/// Closes `fd`, which is ours.
pub fn close<K: Kernel>(kernel: &mut K, fd: i32) {
    // SAFETY: the descriptor is ours and not used afterwards.
    unsafe { kernel.call(__NR_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

/// Whether a call may simply be repeated.
pub fn interrupted(error: Errno) -> bool {
    error.0 == errno::EINTR as i32
}
