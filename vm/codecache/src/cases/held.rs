//! Jumps by a table whose address a register has: by the first that does not change.

use super::{BACK, Cases};
use crate::cache::CodeCache;
use crate::exit::CodeOf;
use crate::predictions::slots_of;
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::predicted::{Slots, Table};
use ppin_indirect::Held;

impl CodeCache {
    /// Lets the jump at cache address `site`, which is in use, go to `entry`, the code for `target`, if its table is where
    /// a register says; and to others that indirect branches have gone to. `registers`: the app's, as the jump is made.
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
        let cases = self.held_cases(slots, table, what)?;
        let done = self.lead_all(&cases, what.bytes, target, entry);
        done.then(|| self.code_of(first))
    }

    /// The slots for the entries of `table`, if the jump goes by that one, or may from now on.
    fn held_cases(&mut self, held: Held, table: u64, what: Table) -> Option<Cases> {
        if !self.may_lead(table, what) {
            return None;
        }
        let count = usize::from(what.count);
        held.begin(table, count);
        // SAFETY: the code of the jump says how many there are, and who has the cache holds the VM's lock.
        let slots = unsafe { held.cases(count) }.filter(|_| held.table() == Some(table))?;
        let back = BACK[usize::from(what.held?.both)];
        Some(Cases {
            table,
            slots,
            behind: Some((held.behind(), back)),
        })
    }
}

#[cfg(test)]
mod tests;
