//! Return from the app's signal handlers: the kernel restores the app's state from a frame of the
//! VM, with a cache address as the pc.
//!
//! A signal that arrives after the frame is complete, and before the kernel has read it, would stay
//! undelivered until the next one. So the VM's signal handler makes the frame return to the
//! delivery trap. Signals are not blocked meanwhile: that would take a system call that the app's
//! filter may forbid.

use super::sets::HOLD_ALL;
use ppin_os::frame::{UContext, greg};

/// The frame that the thread is about to return through; zero: none.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Returning(pub(crate) u64);

impl Returning {
    /// Forgets the frame, because the VM was entered again.
    pub fn forget(&mut self) {
        self.0 = 0;
    }

    /// Makes the frame return to the delivery trap at `trap`, because a signal has arrived in the
    /// VM with the stack pointer `sp` and is pending.
    pub fn hold(&self, sp: u64, trap: u64) {
        // Stacks grow down: if `sp` is above the frame, the frame is not in use.
        if self.0 != 0 && sp <= self.0 {
            // SAFETY: the frame lies on the VM stack of the interrupted thread, in use.
            unsafe { turn_to_delivery(self.0 as *mut UContext, trap) };
        }
    }
}

/// # Safety
/// `context` is a frame of the VM.
pub(crate) unsafe fn turn_to_delivery(context: *mut UContext, trap: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        (&raw mut (*context).gregs[greg::RIP]).write_volatile(trap);
        (&raw mut (*context).sigmask).write_volatile(HOLD_ALL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;

    #[test]
    fn only_a_frame_in_use_is_turned_to_the_delivery_trap() {
        // SAFETY: integers only.
        let frame: Box<UContext> = Box::new(unsafe { core::mem::zeroed() });
        let at = Box::into_raw(frame);
        // SAFETY: the box above.
        let read = || unsafe { ((*at).gregs[greg::RIP], (*at).sigmask) };
        let returning = Returning(at as u64);
        returning.hold(at as u64 + 1, 0x77);
        assert_eq!(read().0, 0, "the stack has been unwound over it");
        Returning::default().hold(0, 0x77);
        returning.hold(at as u64 - 64, 0x77);
        assert_eq!(read(), (0x77, HOLD_ALL), "no other signal comes before");
    }
}
