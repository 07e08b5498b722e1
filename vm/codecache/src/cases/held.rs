//! Jumps by a table whose address a register has: by the first that does not change.

use crate::cache::CodeCache;
use crate::exit::CodeOf;
use crate::predictions::slots_of;
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::predicted::Slots;
use ppin_indirect::Cases;

impl CodeCache {
    /// Lets the jump at cache address `site`, which is in use, go to `entry`, the code for `target`, if its table is where
    /// a register says; and the second time to others that indirect branches have gone to. `registers`: the app's, as the jump is made.
    /// Where the jump's code is kept; `None`: nothing has become of that.
    pub fn lead_held(
        &mut self,
        site: u64,
        target: AppPc,
        entry: CachePc,
        registers: &[u64; 16],
    ) -> Option<CodeOf> {
        let Slots::Cases { first, table: what } = slots_of(site)? else {
            return None;
        };
        let table = *registers.get(usize::from(what.held?.register))?;
        let slots = self.site(site)?.held(first)?;
        if !self.may_lead(table, what) {
            return None;
        }
        // SAFETY: `what` comes from its code, and who has the cache holds the VM's lock.
        let cases = unsafe { Cases::held(slots, table, what) }?;
        let done = self.lead_all(&cases, target, entry);
        done.then(|| self.code_of(first))
    }
}

#[cfg(test)]
mod tests;
