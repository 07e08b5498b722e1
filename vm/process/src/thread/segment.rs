//! The app's gs. The CPU's is the runtime's, so the app's base is kept in the thread
//! area, where rewritten code finds it, and its selector beside. For the few
//! instructions that are not rewritten, the CPU is given the app's gs for the one
//! instruction, and what has become of it is read back.

use super::thread::Thread;
use ppin_os::segment;

impl Thread {
    /// Loads the app's gs. From here to [`Thread::take_back_gs`] nothing of ours may
    /// reach the area through gs.
    pub fn lend_gs(&self) {
        let base = self.area.app_gs_base;
        if self.gs_selector == 0 || !segment::loadable(self.gs_selector) {
            segment::set_gs_base(base);
            return;
        }
        segment::set_gs_selector(self.gs_selector);
        if segment::gs_base() != base {
            // Such a state comes of `wrgsbase` alone.
            segment::write_gs_base(base);
        }
    }

    /// Notes what the app has made of its gs, and loads ours.
    pub fn take_back_gs(&mut self) {
        self.gs_selector = segment::gs_selector();
        self.area.app_gs_base = segment::gs_base();
        segment::set_gs_base(self.area.self_ptr);
    }
}
