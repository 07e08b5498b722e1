//! A table that does not change, by which a jump goes (`ppin_lower::cases`), and the slots for its entries.
//!
//! Each says where the jump goes by that entry: to where what the jump has put away comes back before a fragment's entry
//! (`ppin_relocator::Fragment::entry`). One that says nothing leads behind the jump.

use crate::{Held, Site};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::predicted::Table;
use ppin_abi::spills::Spill;
use ppin_os::{peek, userfault};

/// `mov rax, gs:[Spill::Rax]; mov rcx, gs:[Spill::Rcx]`, the last before a fragment is entered.
pub const FILLS: [u8; 18] = {
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
pub const JUMPS: [([u8; 2], u64); 3] = [
    ([0xff, 0x21], BACK[0]), // jmp [rcx]
    ([0xff, 0x20], BACK[1]), // jmp [rax]
    ([0x24, 0xc1], BACK[1]), // jmp [rcx + rax * 8]
];

/// A table, and the slots for its entries.
pub struct Cases {
    /// App address of the table.
    pub table: u64,
    /// The slots.
    pub slots: &'static [AtomicU64],
    /// Bytes of an entry.
    pub bytes: u8,
    /// Where slots lead that say nothing, and how many bytes put back what the jump has put away; or its code says so.
    behind: Option<(u64, u64)>,
}

impl Cases {
    /// Those of the jump of `site` with the slots at `first`, by a table whose place its code knows.
    #[must_use]
    pub fn known(site: &Site, first: u64, what: Table) -> Option<Self> {
        let [table, slots @ ..] = site.slots(first, 1 + usize::from(what.count))? else {
            return None;
        };
        what.held.is_none().then_some(Self {
            table: table.load(Ordering::Relaxed),
            slots,
            bytes: what.bytes,
            behind: None,
        })
    }

    /// Those of the jump with the slots `held`, if it goes by `table`; it does from now on if it goes by none.
    ///
    /// # Safety
    /// The jump's code says that `what` is its table, and the caller holds the lock of who asks for others of its cases.
    #[must_use]
    pub unsafe fn held(held: Held, table: u64, what: Table) -> Option<Self> {
        let count = usize::from(what.count);
        held.begin(table, count);
        // SAFETY: the caller's promises.
        let slots = unsafe { held.cases(count) }.filter(|_| held.table() == Some(table))?;
        let back = BACK[usize::from(what.held?.both)];
        Some(Self {
            table,
            slots,
            bytes: what.bytes,
            behind: Some((held.behind(), back)),
        })
    }

    /// Whether something is known of an entry.
    #[must_use]
    pub fn are_known(&self) -> bool {
        let value = |slot: &AtomicU64| slot.load(Ordering::Relaxed);
        let differ = |it: &[AtomicU64]| value(&it[0]) != value(&it[1]);
        self.slots.windows(2).any(differ)
    }

    /// Where the entries lead; nowhere, if the table cannot be read.
    #[must_use]
    pub fn targets(&self) -> Vec<AppPc> {
        let len = self.slots.len() * usize::from(self.bytes);
        let mut contents = alloc::vec![0; len];
        // (To read what is not in memory might be to wait for a thread that needs the lock.)
        let there = userfault::readable(self.table, len) == len;
        if !there || peek::read(self.table, &mut contents) != len {
            return Vec::new();
        }
        let entries = contents.chunks_exact(self.bytes.into());
        entries.map(|entry| self.target(entry)).collect()
    }

    fn target(&self, entry: &[u8]) -> AppPc {
        let (address, distance) = (entry.try_into(), entry.try_into());
        let address = address.map(u64::from_le_bytes);
        let distance = distance.map(|it| i64::from(i32::from_le_bytes(it)));
        let far = distance.map(|it| self.table.wrapping_add_signed(it));
        AppPc(address.or(far).unwrap_or_default())
    }

    /// Where the app has entry `nth`, and how many bytes.
    #[must_use]
    pub fn cell(&self, nth: usize) -> (u64, u64) {
        let bytes = u64::from(self.bytes);
        (self.table + nth as u64 * bytes, bytes)
    }

    /// Where threads arrive by `slot`, which says nothing yet, that go on at `entry`, which may be entered. (Whoever comes
    /// to the bytes before it that put back what was put away goes on there, whatever fragment they belong to.)
    #[must_use]
    pub fn arrival_end(&self, slot: &AtomicU64, entry: CachePc) -> Option<u64> {
        let back = self.put_away(slot)?;
        let start = entry.0.checked_sub(FILLS.len() as u64)?;
        let mut code = [0; FILLS.len()];
        let whole = peek::read(start, &mut code) == code.len();
        (whole && code == FILLS).then(|| entry.0 - back)
    }

    /// How many bytes put back what the jump has put away that goes on behind itself by this slot. `None`: by this one it
    /// goes elsewhere.
    fn put_away(&self, slot: &AtomicU64) -> Option<u64> {
        let to = slot.load(Ordering::Relaxed);
        match self.behind {
            Some((behind, back)) => (to == behind).then_some(back),
            None => put_away_before(to),
        }
    }
}

/// The same of a jump that ends at cache address `behind`.
fn put_away_before(behind: u64) -> Option<u64> {
    let mut jump = [0; 2];
    let whole = peek::read(behind.wrapping_sub(2), &mut jump) == jump.len();
    let mut known = JUMPS.iter().filter(|_| whole);
    known.find(|(code, _)| *code == jump).map(|(_, back)| *back)
}
