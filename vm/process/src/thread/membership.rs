//! The process that a thread belongs to.

use super::process::Process;
use super::thread::Thread;
use alloc::boxed::Box;
use core::sync::atomic::Ordering;
use ppin_inject::HelperSpace;

impl Thread {
    /// The thread's process. It is changed under the VM lock only.
    #[must_use]
    #[allow(clippy::mut_from_ref)]
    pub fn process<'a>(&self) -> &'a mut Process {
        // SAFETY: set before the thread runs, freed when no thread is left.
        unsafe { &mut *self.process }
    }

    /// Whether `other` belongs to the same process.
    #[must_use]
    pub fn shares_process(&self, other: &Self) -> bool {
        self.process == other.process
    }

    /// Gives the first thread its process.
    pub fn begin_process(&mut self, process: Box<Process>) {
        self.process = Box::into_raw(process);
    }

    /// Gives a child its process: the parent's if `shared`, else a copy.
    pub fn set_process(&mut self, parent: &Self, shared: bool) {
        let process = parent.process();
        if shared {
            process.threads.fetch_add(1, Ordering::Relaxed);
            self.process = process;
        } else {
            self.process = Box::into_raw(Process::new(process.actions.clone()));
        }
    }

    /// Waits until the helper of this child's exec, if there was one, no longer uses this memory.
    pub fn finish_exec(&mut self) {
        let space = self.process().helper;
        if !space.is_null() {
            // SAFETY: made by `helper_space`.
            unsafe { HelperSpace::finished(space) };
        }
    }

    /// Memory for the helper of an exec.
    ///
    /// # Errors
    /// No memory.
    pub fn helper_space(&mut self) -> ppin_os::Result<*mut HelperSpace> {
        let process = self.process();
        if process.helper.is_null() {
            let len = size_of::<HelperSpace>() as u64;
            process.helper = ppin_os::place::anywhere(len, ppin_os::mem::RW)? as *mut HelperSpace;
        }
        Ok(process.helper)
    }

    /// Ends the thread's share in its process; the last thread frees it.
    pub fn drop_process(&mut self) {
        let process = core::mem::replace(&mut self.process, core::ptr::null_mut());
        // SAFETY: this thread's share.
        let last = unsafe { (*process).threads.fetch_sub(1, Ordering::AcqRel) == 1 };
        if last {
            // SAFETY: no other thread refers to it; it was made by Box::into_raw.
            let process = unsafe { Box::from_raw(process) };
            if !process.helper.is_null() {
                let len = ppin_os::mem::page_up(size_of::<HelperSpace>() as u64);
                // SAFETY: the helper no longer runs.
                let _ = unsafe { ppin_os::mem::unmap(process.helper as u64, len) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::thread;
    use core::sync::atomic::Ordering;
    use ppin_os::peek;
    use ppin_os::signals::KernelSigaction;

    #[test]
    fn a_thread_shares_its_process_and_a_child_has_a_copy() {
        let [parent, one, two] = [0, 1, 2].map(thread);
        one.drop_process();
        two.drop_process();
        let handled_at = |handler| KernelSigaction {
            handler,
            ..KernelSigaction::default()
        };
        parent.process().actions.set(1, handled_at(77));
        one.set_process(parent, true);
        two.set_process(parent, false);
        assert!(one.shares_process(parent) && !two.shares_process(parent));
        assert_eq!(parent.process().threads.load(Ordering::Relaxed), 2);
        one.process().actions.set(1, handled_at(88));
        assert_eq!(
            [parent, two].map(|t| t.process().actions.get(1).handler),
            [88, 77]
        );
    }

    #[test]
    fn a_process_outlives_its_first_thread() {
        peek::never_fault();
        let [first, second] = [0, 1].map(thread);
        second.drop_process();
        second.set_process(first, true);
        let helper = first.helper_space().expect("there is memory") as u64;
        first.drop_process();
        assert_eq!(second.process().threads.load(Ordering::Relaxed), 1);
        assert_eq!(peek::read(helper, &mut [0]), 1, "its memory is in use");
    }
}
