//! Signals by which the kernel is to end the process.

use super::restorer::returns_by_hand;
use super::sets::{FAULTS, bit};
use core::sync::atomic::{AtomicBool, Ordering};
use ppin_os::c;

/// The calls by which a process dies of a signal are not to be had.
static LEFT: AtomicBool = AtomicBool::new(false);

/// Says whether signals that end the process are left to the kernel; whether that is
/// news.
pub fn leave_to_kernel(left: bool) -> bool {
    LEFT.swap(left, Ordering::Relaxed) != left
}

/// Whether the kernel is to end the process by `signal`. Faults come to us all the same
/// as long as we can return from a handler: the VM itself may run into them.
#[must_use]
pub fn is_left(signal: u32) -> bool {
    let ours = if returns_by_hand() {
        bit(c::SIGSEGV) | bit(c::SIGTRAP)
    } else {
        FAULTS
    };
    LEFT.load(Ordering::Relaxed) && ours & bit(signal) == 0
}

/// Whether the kernel is to end the process by any signal.
#[must_use]
pub fn is_kernels() -> bool {
    LEFT.load(Ordering::Relaxed)
}
