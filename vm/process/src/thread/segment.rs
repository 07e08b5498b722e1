//! The app's gs. The runtime uses the CPU's gs. The app's base is kept in the thread area, where
//! rewritten code reads it, and its selector beside. For the few instructions that are not
//! rewritten, the CPU's gs is set to the app's for that one instruction, and read back after it.

use super::thread::Thread;
use ppin_os::segment;

impl Thread {
    /// Loads the app's gs. Until [`Thread::save_app_gs`], the runtime must not access the area
    /// through gs.
    pub fn load_app_gs(&self) {
        let base = self.area.app_gs_base;
        if self.gs_selector == 0 || !segment::loadable(self.gs_selector) {
            segment::set_gs_base(base);
            return;
        }
        segment::set_gs_selector(self.gs_selector);
        if segment::gs_base() != base {
            // Only `wrgsbase` makes selector and base disagree.
            segment::write_gs_base(base);
        }
    }

    /// Saves the app's gs, which the app may have changed, and loads the runtime's.
    pub fn save_app_gs(&mut self) {
        self.gs_selector = segment::gs_selector();
        self.area.app_gs_base = segment::gs_base();
        segment::set_gs_base(self.area.self_ptr);
    }
}
