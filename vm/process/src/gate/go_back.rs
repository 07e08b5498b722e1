//! Entering the cache through a signal frame that the kernel reads: see
//! [`crate::signal::returning`].

use super::cross::{cross, deliver_trap};
use super::stackless::sigreturn;
use crate::signal::returning::turn_to_delivery;
use crate::signal::sets::kernel_mask;
use crate::thread::Thread;
use core::ptr;
use core::sync::atomic::{Ordering, compiler_fence};
use ppin_os::frame::{UContext, greg};

/// Returns to the cache at `entry` with the app's state `context`.
pub fn to(thread: &mut Thread, mut context: UContext, entry: u64) -> ! {
    thread.entering = entry;
    context.gregs[greg::RIP] = entry;
    context.sigmask = kernel_mask(thread.signals.mask);
    context.stack = [thread.signals.stack.0, 0, thread.signals.stack.1];
    let frame = &raw mut context;
    compiler_fence(Ordering::SeqCst);
    // SAFETY: a field of this thread, which its signal handler reads.
    unsafe { ptr::write_volatile(&raw mut thread.signals.returning.0, frame as u64) };
    compiler_fence(Ordering::SeqCst);
    // SAFETY: a field of this thread, which its signal handler writes.
    if unsafe { ptr::read_volatile(&raw const thread.pending) } != 0 {
        // SAFETY: the frame just built.
        unsafe { turn_to_delivery(frame, cross(deliver_trap)) };
    }
    // SAFETY: a complete frame; the kernel checks the vector state, and raises SIGSEGV as it would
    // natively if that is corrupt.
    unsafe { sigreturn(frame) }
}
