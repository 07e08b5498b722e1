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
use ppin_abi::predicted::Table;
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

/// How many of [`FILLS`] put back rcx, and rax before it.
const BACK: [u64; 2] = [9, 18];

/// How jumps go by a slot: their last bytes, and how many of [`FILLS`] put back what they have put away.
const JUMPS: [([u8; 2], u64); 3] = [
    ([0xff, 0x21], BACK[0]), // jmp [rcx]
    ([0xff, 0x20], BACK[1]), // jmp [rax]
    ([0x24, 0xc1], BACK[1]), // jmp [rcx + rax * 8]
];

/// A table, and the slots for its entries.
struct Cases {
    table: u64,
    slots: &'static [AtomicU64],
    /// Where slots lead that say nothing, and how many bytes put back what the jump has put away; or its code says so.
    behind: Option<(u64, u64)>,
}

impl Cases {
    /// Those of the jump of `site` with the slots at `first`, by a table whose place its code knows.
    fn known(site: &Site, first: u64, what: Table) -> Option<Self> {
        let [table, slots @ ..] = site.slots(first, 1 + usize::from(what.count))? else {
            return None;
        };
        let (table, behind) = (table.load(Ordering::Relaxed), None);
        what.held.is_none().then_some(Self {
            table,
            slots,
            behind,
        })
    }

    /// Whether something is known of an entry.
    fn are_known(&self) -> bool {
        let value = |slot: &AtomicU64| slot.load(Ordering::Relaxed);
        self.slots
            .windows(2)
            .any(|it| value(&it[0]) != value(&it[1]))
    }

    /// How many bytes put back what the jump has put away that goes on behind itself by this slot. `None`: by this one it
    /// goes elsewhere.
    fn put_away(&self, slot: &AtomicU64) -> Option<u64> {
        match self.behind {
            Some((behind, back)) => (slot.load(Ordering::Relaxed) == behind).then_some(back),
            None => put_away(slot),
        }
    }
}

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
            self.may_lead(cases.table, what) && self.lead_all(&cases, what.bytes, target, entry)
        })
    }

    /// Whether jumps may go by this table.
    fn may_lead(&mut self, table: u64, what: Table) -> bool {
        let len = u64::from(what.count) * u64::from(what.bytes);
        self.is_steady(table, len) && !landing::all_are_shut()
    }

    fn lead_all(&mut self, cases: &Cases, bytes: u8, target: AppPc, entry: CachePc) -> bool {
        let targets = targets(cases.table, cases.slots.len(), bytes);
        let others = cases.are_known();
        let mut led = 0;
        for ((slot, to), nth) in cases.slots.iter().zip(targets).zip(0..) {
            let code = match to == target {
                true => Some(entry),
                false if others => self.indirect_entry(to),
                false => None,
            };
            let place = code.and_then(|code| arrival_end(code, cases.put_away(slot)?));
            if let Some((place, code)) = place.zip(code) {
                let cell = (cases.table + nth * u64::from(bytes), u64::from(bytes));
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
}

/// Where threads arrive that go on at `entry`, which may be entered, if the last bytes before it, so many of them, put back
/// what they have put away. (Whoever comes to these bytes goes on at `entry`, whatever fragment they belong to.)
fn arrival_end(entry: CachePc, back: u64) -> Option<u64> {
    let start = entry.0.checked_sub(FILLS.len() as u64)?;
    let mut code = [0; FILLS.len()];
    let whole = peek::read(start, &mut code) == code.len();
    (whole && code == FILLS).then(|| entry.0 - back)
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

mod held;
#[cfg(test)]
mod tests;
