//! State that the threads of one process share. A vfork child shares its parent's memory but is a
//! process, so it has a [`Process`] of its own.

use crate::signal::held::Held;
use crate::signal::{Actions, MAX_SIGNAL, bit};
use alloc::boxed::Box;
use core::sync::atomic::AtomicU32;
use ppin_inject::HelperSpace;
use ppin_os::signals::SigSet;

/// State that the threads of one process share.
#[derive(Debug)]
pub struct Process {
    /// The app's signal dispositions.
    pub actions: Actions,
    /// Fault signals sent to the process while all its threads block them.
    pub held: Held,
    /// Signals whose dispositions are not yet installed in the kernel.
    uninstalled: SigSet,
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
            uninstalled: 0,
            helper: core::ptr::null_mut(),
            threads: AtomicU32::new(1),
        })
    }

    /// `CLONE_CLEAR_SIGHAND`: resets signals that are not ignored to the default.
    pub fn clear_handlers(&mut self) {
        self.uninstalled = self.actions.clear();
    }

    /// Installs this process's dispositions in the kernel, which still has the parent's. This
    /// process must be the running one.
    pub fn install_cleared(&mut self) {
        let uninstalled = core::mem::take(&mut self.uninstalled);
        for signal in (1..=MAX_SIGNAL).filter(|signal| uninstalled & bit(*signal) != 0) {
            self.actions.install(signal);
        }
    }
}
