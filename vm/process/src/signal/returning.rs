//! The way back from the app's handlers: the kernel restores the app's state from a
//! frame of ours, at a cache address.
//!
//! A signal that arrives when the frame is complete and the kernel has not read it yet
//! would be lost until the next one: our handler therefore turns the frame to the
//! delivery trap. Nothing is blocked meanwhile, which would take a system call that
//! the app's filter may not know.

use super::sets::HOLD_ALL;
use ppin_os::frame::{UContext, greg};

/// The frame that the thread is about to return through; zero: none.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Returning(pub(crate) u64);

impl Returning {
    /// The VM was entered anew: a frame from the last time is gone.
    pub fn forget(&mut self) {
        self.0 = 0;
    }

    /// A signal has arrived in the VM with the stack pointer `sp` and waits; `trap` is the
    /// address of the delivery trap.
    pub fn hold(&self, sp: u64, trap: u64) {
        // Stacks grow down: above the frame it is no longer, or not yet, in use.
        if self.0 != 0 && sp <= self.0 {
            // SAFETY: it lies on the VM stack of the interrupted thread, in use.
            unsafe { turn_to_delivery(self.0 as *mut UContext, trap) };
        }
    }
}

/// # Safety
/// `context` is a frame of ours.
pub(crate) unsafe fn turn_to_delivery(context: *mut UContext, trap: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        (&raw mut (*context).gregs[greg::RIP]).write_volatile(trap);
        (&raw mut (*context).sigmask).write_volatile(HOLD_ALL);
    }
}
