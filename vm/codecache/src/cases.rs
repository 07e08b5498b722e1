//! Jumps by a table that does not change (`ppin_lower::cases`): a slot for each entry says where it leads.
//!
//! While the table cannot change ([`crate::sealed`]), the index tells where the jump goes; so nothing is compared, and
//! the thread arrives where rcx is all that is to be put back before a fragment ([`ppin_relocator::Fragment::entry`]).
//! A slot that says nothing leads behind the jump, where the target is looked up, and the VM asked every so many times.

use crate::cache::CodeCache;
use crate::landing;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::predicted::Slots;
use ppin_abi::spills::Spill;
use ppin_indirect::Site;
use ppin_os::{peek, userfault};

/// `mov rax, gs:[Spill::Rax]; mov rcx, gs:[Spill::Rcx]`, the last before a fragment is entered.
const FILLS: [u8; 18] = {
    let [a, b, c, d] = Spill::Rax.disp().to_le_bytes();
    let [e, f, g, h] = Spill::Rcx.disp().to_le_bytes();
    [
        0x65, 0x48, 0x8b, 0x04, 0x25, a, b, c, d, // by rax
        0x65, 0x48, 0x8b, 0x0c, 0x25, e, f, g, h, // by rcx
    ]
};

/// How jumps go by a slot: their last bytes, and how many of [`FILLS`] put back what they have put away.
const JUMPS: [([u8; 2], u64); 2] = [([0xff, 0x21], 9), ([0xff, 0x20], 18)];

impl CodeCache {
    /// Lets the jump of `site` with these slots go where its table says: to `entry`, the code for `target`, and to others
    /// that indirect branches have gone to. Whether something has become of that.
    pub(crate) fn lead_cases(
        &mut self,
        site: &Site,
        slots: Slots,
        target: AppPc,
        entry: CachePc,
    ) -> bool {
        let Slots::Cases {
            first,
            count,
            bytes,
        } = slots
        else {
            return false;
        };
        let Some([table, cases @ ..]) = site.slots(first, 1 + usize::from(count)) else {
            return false;
        };
        let table = table.load(Ordering::Relaxed);
        let steady = self.is_steady(table, u64::from(count) * u64::from(bytes));
        if !steady || landing::all_are_shut() {
            return false;
        }
        let targets = targets(table, cases.len(), bytes);
        let mut led = 0;
        for ((slot, to), nth) in cases.iter().zip(targets).zip(0..) {
            let code = match to == target {
                true => Some(entry),
                false => self.indirect_entry(to),
            };
            if let Some((place, code)) = self.arrival_end(slot, code).zip(code) {
                let cell = (table + nth * u64::from(bytes), u64::from(bytes));
                self.lead_by(slot.as_ptr() as u64, cell, place, code);
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

    /// Where threads arrive by `slot`, which says nothing yet, that go on at `entry`.
    fn arrival_end(&self, slot: &AtomicU64, entry: Option<CachePc>) -> Option<u64> {
        let back = put_away(slot)?;
        let entry = entry.filter(|entry| self.arrival(*entry).is_some())?;
        let start = entry.0.checked_sub(FILLS.len() as u64)?;
        let mut code = [0; FILLS.len()];
        let whole = peek::read(start, &mut code) == code.len();
        (whole && code == FILLS).then(|| entry.0 - back)
    }
}

/// Where the entries of a table lead; nowhere, if it cannot be read.
fn targets(table: u64, count: usize, bytes: u8) -> Vec<AppPc> {
    let len = count * usize::from(bytes);
    let mut contents = alloc::vec![0; len];
    // (To read what is not in memory might be to wait for a thread that needs the lock.)
    let there = userfault::readable(table, len) == len;
    if !there || peek::read(table, &mut contents) != len {
        return Vec::new();
    }
    let target = |entry: &[u8]| match (<[u8; 8]>::try_from(entry), <[u8; 4]>::try_from(entry)) {
        (Ok(address), _) => u64::from_le_bytes(address),
        (_, Ok(distance)) => table.wrapping_add_signed(i32::from_le_bytes(distance).into()),
        _ => 0,
    };
    contents
        .chunks_exact(bytes.into())
        .map(target)
        .map(AppPc)
        .collect()
}

/// How many bytes put back what the jump has put away that goes on behind itself by this slot. `None`: by this one it
/// goes elsewhere.
fn put_away(slot: &AtomicU64) -> Option<u64> {
    let mut jump = [0; 2];
    let behind = slot.load(Ordering::Relaxed);
    let whole = peek::read(behind.wrapping_sub(2), &mut jump) == jump.len();
    let mut known = JUMPS.iter().filter(|_| whole);
    known.find(|(code, _)| *code == jump).map(|(_, back)| *back)
}

#[cfg(test)]
mod tests;
