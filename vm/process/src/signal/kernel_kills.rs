//! Signals by which the kernel ends the process, because the VM cannot.

use super::by_hand::returns_by_hand;
use super::sets::{FAULTS, bit};
use core::sync::atomic::{AtomicBool, Ordering};
use ppin_os::c;

/// A filter forbids the calls by which the VM ends the process with a signal.
static LEFT_TO_KERNEL: AtomicBool = AtomicBool::new(false);

/// Sets whether signals that end the process are left to the kernel; returns whether that is a
/// change.
pub fn set(left: bool) -> bool {
    LEFT_TO_KERNEL.swap(left, Ordering::Relaxed) != left
}

/// Whether the kernel ends the process by `signal`. Faults still go to the VM as long as it can
/// return from a handler, since the VM itself may fault.
#[must_use]
pub fn by(signal: u32) -> bool {
    let ours = if returns_by_hand() {
        bit(c::SIGSEGV) | bit(c::SIGTRAP)
    } else {
        FAULTS
    };
    LEFT_TO_KERNEL.load(Ordering::Relaxed) && ours & bit(signal) == 0
}

/// Whether the kernel ends the process by any signal.
#[must_use]
pub fn any() -> bool {
    LEFT_TO_KERNEL.load(Ordering::Relaxed)
}
