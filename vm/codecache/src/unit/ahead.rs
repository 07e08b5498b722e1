//! What a unit can do before it is asked: hints say that it will be.

use crate::cache::CodeCache;

impl CodeCache {
    /// Admits the group that holds cache address `addr`, if there is one and it may run.
    pub fn admit_ahead(&mut self, addr: u64) {
        let Some((id, _)) = self.units.at(addr) else {
            return;
        };
        let image = self.images.home(id);
        let unit = self.units.of_mut(id).iter_mut().find(|u| u.contains(addr));
        if let Some(unit) = unit {
            unit.admit_at(addr, image, &mut self.figures, &mut self.ibl);
        }
    }
}
