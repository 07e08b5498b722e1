//! The way back from the app's handlers: the kernel restores the app's state from a
//! frame of ours, at a cache address.
//!
//! A signal that arrives when the frame is complete and the kernel has not read it yet
//! would be lost until the next one: our handler therefore turns the frame to the
//! delivery trap. Nothing is blocked meanwhile, which would take a system call that
//! the app's filter may not know.

use super::HOLD_ALL;
use crate::thread::Thread;
use core::ptr;
use core::sync::atomic::{Ordering, compiler_fence};
use ppin_os::frame::{UContext, greg};

/// The frame that the thread is about to return through; zero: none.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Returning(u64);

impl Returning {
    /// The VM was entered anew: a frame from the last time is gone.
    pub fn forget(&mut self) {
        self.0 = 0;
    }

    /// A signal has arrived in the VM with the stack pointer `sp` and waits.
    pub fn hold(&self, sp: u64) {
        // Stacks grow down: above the frame it is no longer, or not yet, in use.
        if self.0 != 0 && sp <= self.0 {
            // SAFETY: it lies on the VM stack of the interrupted thread, in use.
            unsafe { turn_to_delivery(self.0 as *mut UContext) };
        }
    }
}

/// # Safety
/// `context` is a frame of ours.
unsafe fn turn_to_delivery(context: *mut UContext) {
    let trap = crate::glue::cross(crate::glue::deliver_trap);
    // SAFETY: the caller's promise.
    unsafe {
        (&raw mut (*context).gregs[greg::RIP]).write_volatile(trap);
        (&raw mut (*context).sigmask).write_volatile(HOLD_ALL);
    }
}

/// Returns to the cache at `entry` with the app's state `context`.
pub fn to(thread: &mut Thread, mut context: UContext, entry: u64) -> ! {
    thread.entering = entry;
    context.gregs[greg::RIP] = entry;
    context.sigmask = super::kernel_mask(thread.signals.mask);
    context.stack = [thread.signals.stack.0, 0, thread.signals.stack.1];
    let frame = &raw mut context;
    compiler_fence(Ordering::SeqCst);
    // SAFETY: a field of ours, which the handler reads.
    unsafe { ptr::write_volatile(&raw mut thread.signals.returning.0, frame as u64) };
    compiler_fence(Ordering::SeqCst);
    // SAFETY: a field of ours, which the handler writes.
    if unsafe { ptr::read_volatile(&raw const thread.pending) } != 0 {
        // SAFETY: just made.
        unsafe { turn_to_delivery(frame) };
    }
    // SAFETY: a complete frame; the kernel checks the vector state, and raises
    // SIGSEGV as it would natively if that is spoilt.
    unsafe { crate::glue::sigreturn(frame) }
}
