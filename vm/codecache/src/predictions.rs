//! Where jumps through cells are predicted to go ([`ppin_relocator::SlotInit::Prediction`]).
//!
//! A fragment has two slots for each such jump: what makes 0 with the app address that the
//! cell is expected to hold, and where that goes on. Code reads one after the other, without a lock. So
//! they are written to once, the second first: who has found the first one right finds the second one of
//! the same time. When the code there goes out of use, the first is put back to what it was; a thread
//! between the two then goes where it would have gone a moment earlier, as through any link. They are not
//! written to again: a thread might be between them that has compared another address.
//!
//! A jump through a cell that does not change reads one slot, and compares nothing ([`crate::sealed`]); so does one
//! through a table of such ([`crate::cases`]).

use crate::cache::CodeCache;
use crate::exit::CodeOf;
use crate::landing;
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::predicted::{self, Slots};
use ppin_indirect::{Pair, Site};
use ppin_os::peek;

impl CodeCache {
    /// Lets the jump at cache address `site`, which is in use, go to `entry` from here on if the cell holds
    /// `target`. Where the jump's code is kept; `None`: it is predicted already, or cannot be.
    pub fn predict(&mut self, site: u64, target: AppPc, entry: CachePc) -> Option<CodeOf> {
        let found = slots_of(site)?;
        let of = self.site(site)?;
        let first = match found {
            Slots::Compared(first) | Slots::Sealed(first) => first,
            Slots::Cases { first, table } => {
                let done = self.lead_cases(&of, (first, table), target, entry);
                return done.then(|| self.code_of(first));
            }
        };
        let slots = of.pair(first)?;
        // (Of its own addresses slots of landings hold the negatives.)
        let inside = (of.source.start..=of.source.end).contains(&target.0);
        let own = (AppPc(of.source.start), of.entry);
        let done = match found {
            Slots::Compared(_) => !inside && self.predict_by(slots, own, target, entry),
            _ => self.takes(entry, of.passes_on(slots)) && self.lead(slots, target, entry),
        };
        if !done {
            return None;
        }
        let code = self.code_of(first);
        if code == CodeOf::Unit {
            self.learn(entry);
        } else {
            self.fresh.note_predicted(first, site);
        }
        Some(code)
    }

    /// Where the jump at cache address `site` may pass calls on to, as they are, and does not yet: to code for this app
    /// address that is entered by calls.
    #[must_use]
    pub fn passes_on(&self, site: u64) -> Option<AppPc> {
        let Slots::Sealed(first) = slots_of(site)? else {
            return None;
        };
        let of = self.site(site)?;
        let slots = of.pair(first).filter(|slots| of.passes_on(*slots))?;
        self.target_of(slots)
    }

    /// Whether the code at `entry` takes what comes there: calls, if they are `passed_on`.
    fn takes(&self, entry: CachePc, passed_on: bool) -> bool {
        let of = self.site(entry.0);
        of.is_some_and(|of| of.is_called_at(entry) == passed_on)
    }

    /// Whose slot lies at `slot`.
    pub(crate) fn code_of(&self, slot: u64) -> CodeOf {
        match self.units.at(slot) {
            None => CodeOf::Fresh,
            Some(_) => CodeOf::Unit,
        }
    }

    /// Lets the jump with these slots, of the fragment for app address `head` that is entered at `own`, go to
    /// `entry` from here on if the cell holds `target`. Whether nothing had been predicted by them.
    pub(crate) fn predict_by(
        &mut self,
        slots: Pair,
        (head, own): (AppPc, u64),
        target: AppPc,
        entry: CachePc,
    ) -> bool {
        if !slots.are_unwritten(head, own) || landing::all_are_shut() {
            return false;
        }
        slots.lead_to(entry);
        self.figures.jumps_predicted += 1;
        self.fresh
            .predict(slots.first(), target.0.wrapping_neg(), entry.0);
        true
    }

    /// The fragment that holds cache address `addr`, if it is in use.
    pub(crate) fn site(&self, addr: u64) -> Option<Site> {
        if let Some(fresh) = self.fragment_at(addr) {
            return Some(fresh.site());
        }
        let (id, unit) = self.unit_at(addr)?;
        unit.site(addr, self.images.get(id).base)
    }
}

/// The slots of the jump that leaves at cache address `site`.
pub(crate) fn slots_of(site: u64) -> Option<Slots> {
    let mut code = [0; predicted::CODE as usize];
    let whole = peek::read(site.wrapping_sub(predicted::CODE), &mut code) == code.len();
    predicted::slots(site, &code).filter(|_| whole)
}

#[cfg(test)]
mod tests;
