//! Jumps by a table that does not change: where its slots lead ([`ppin_indirect::Cases`]).
//!
//! While the table cannot change ([`crate::sealed`]), the index tells where the jump goes; so nothing is compared, and
//! the thread arrives where little is to be put back before a fragment. By an entry of which nothing is known, the target is
//! looked up, and the VM asked every so many times.

use crate::cache::CodeCache;
use crate::landing;
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::predicted::Table;
use ppin_indirect::{Cases, Site};

impl CodeCache {
    /// Lets the jump of `site` with the slots at `first` go where its table says: to `entry`, the code for `target`, and the
    /// second time to others that indirect branches have gone to, for most jumps are not made often enough to be worth it.
    /// Whether something has become of that.
    pub(crate) fn lead_cases(
        &mut self,
        site: &Site,
        (first, what): (u64, Table),
        target: AppPc,
        entry: CachePc,
    ) -> bool {
        let cases = Cases::known(site, first, what);
        cases.is_some_and(|cases| {
            self.may_lead(cases.table, what) && self.lead_all(&cases, target, entry)
        })
    }

    /// Whether jumps may go by this table.
    fn may_lead(&mut self, table: u64, what: Table) -> bool {
        let len = u64::from(what.count) * u64::from(what.bytes);
        self.is_steady(table, len) && !landing::all_are_shut()
    }

    fn lead_all(&mut self, cases: &Cases, target: AppPc, entry: CachePc) -> bool {
        let others = cases.are_known();
        let mut led = 0;
        for (nth, (slot, to)) in cases.slots.iter().zip(cases.targets()).enumerate() {
            let code = match to == target {
                true => Some(entry),
                false if others => self.indirect_entry(to),
                false => None,
            };
            let place = code.and_then(|code| cases.arrival_end(slot, code));
            if let Some((place, code)) = place.zip(code) {
                self.lead_by(slot.as_ptr() as u64, cases.cell(nth), place, code);
                led += 1;
            }
        }
        self.figures.jumps_predicted += u64::from(led > 0);
        led > 0
    }

    /// Where indirect branches to `pc` go on, if that is known.
    fn indirect_entry(&self, pc: AppPc) -> Option<CachePc> {
        self.ibl.target_of(pc.0).map(CachePc)
    }
}

mod held;
#[cfg(test)]
mod tests;
