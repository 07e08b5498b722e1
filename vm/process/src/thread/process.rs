//! What threads of one process share. A vfork child shares its parent's memory but
//! is a process of its own, so it has one of its own.

use crate::signal::held::Held;
use crate::signal::{Actions, MAX_SIGNAL, bit};
use alloc::boxed::Box;
use core::sync::atomic::AtomicU32;
use ppin_inject::HelperSpace;
use ppin_os::signals::SigSet;

/// See the module.
#[derive(Debug)]
pub struct Process {
    /// Dispositions.
    pub actions: Actions,
    /// Fault signals sent to the process while all its threads block them.
    pub held: Held,
    /// Signals whose dispositions the kernel has yet to learn.
    untold: SigSet,
    /// Memory for the helper of a followed exec; null until one is made.
    pub helper: *mut HelperSpace,
    pub(super) threads: AtomicU32,
}

impl Process {
    /// A process with these dispositions.
    #[must_use]
    pub fn new(actions: Actions) -> Box<Self> {
        Box::new(Self {
            actions,
            held: Held::NONE,
            untold: 0,
            helper: core::ptr::null_mut(),
            threads: AtomicU32::new(1),
        })
    }

    /// `CLONE_CLEAR_SIGHAND`: what is not ignored is at its default.
    pub fn clear_handlers(&mut self) {
        self.untold = self.actions.clear();
    }

    /// Makes the kernel's dispositions, which are still the parent's, those of this
    /// process, which is the running one.
    pub fn tell_kernel(&mut self) {
        let untold = core::mem::take(&mut self.untold);
        for signal in (1..=MAX_SIGNAL).filter(|signal| untold & bit(*signal) != 0) {
            self.actions.install(signal);
        }
    }
}
