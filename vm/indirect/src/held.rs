//! The slots of a jump by a table whose address the app has in a register (`ppin_lower::cases_kept`).
//!
//! The trace has three: what makes 0 with the table that the jump goes by; where slots for its entries are; and where these
//! lead as long as nothing is known of an entry. The first two are written to once, the second first. The slots for
//! entries are made then, and never freed: a thread may be about to read one.

use crate::Site;
use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Most slots for entries that a process makes, 1 MB.
const MOST: usize = 1 << 17;
/// How many have been made.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// The three slots of the trace.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    slots: &'static [AtomicU64],
    /// What the first two hold as long as no table is known.
    unset: u64,
}

impl Site {
    /// Those at `first` and behind it, if they are this one's.
    #[must_use]
    pub fn held(&self, first: u64) -> Option<Held> {
        let (slots, unset) = (self.slots(first, 3)?, self.entry);
        Some(Held { slots, unset })
    }
}

impl Held {
    /// The table that the jump goes by, if one is known.
    #[must_use]
    pub fn table(&self) -> Option<u64> {
        let against = self.slots[0].load(Ordering::Relaxed);
        (against != self.unset).then(|| against.wrapping_neg())
    }

    /// The slots for its `count` entries.
    ///
    /// # Safety
    /// There are so many, and the caller holds the lock of who [begins](Self::begin) them.
    #[must_use]
    pub unsafe fn cases(&self, count: usize) -> Option<&'static [AtomicU64]> {
        self.table()?;
        let first = self.slots[1].load(Ordering::Relaxed);
        // SAFETY: the address was written with the table, of slots that are never freed; the caller's promise.
        Some(unsafe { core::slice::from_raw_parts(first as *const AtomicU64, count) })
    }

    /// Where jumps go by entries of which nothing is known.
    #[must_use]
    pub fn behind(&self) -> u64 {
        self.slots[2].load(Ordering::Relaxed)
    }

    /// Lets the jump go by `table`, of so many entries, of which nothing is known yet; not if it goes by one already, or
    /// there are too many.
    pub fn begin(&self, table: u64, count: usize) {
        let made = MADE.load(Ordering::Relaxed) + count;
        if self.table().is_some() || made > MOST {
            return;
        }
        MADE.store(made, Ordering::Relaxed);
        let behind = self.behind();
        let cases: Box<[_]> = (0..count).map(|_| AtomicU64::new(behind)).collect();
        let first = Box::leak(cases).as_ptr() as u64;
        self.slots[1].store(first, Ordering::Release);
        self.slots[0].store(table.wrapping_neg(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: u64 = 0x1000;
    const BEHIND: u64 = 0x1040;

    fn held() -> Held {
        let slots = [ENTRY, ENTRY, BEHIND].map(AtomicU64::new);
        let first = Box::leak(Box::new(slots)).as_ptr() as u64;
        // SAFETY: the slots are never freed.
        let site = unsafe { Site::new(first..first + 24, 0..8, ENTRY, false) };
        assert!(site.held(first + 8).is_none());
        site.held(first).expect("they are its")
    }

    #[test]
    fn a_table_is_known_once() {
        let held = held();
        assert_eq!(held.table(), None);
        // SAFETY: none are known.
        assert!(unsafe { held.cases(2) }.is_none());
        held.begin(0x5000, 2);
        held.begin(0x6000, 7);
        assert_eq!(held.table(), Some(0x5000));
        // SAFETY: there are two.
        let cases = unsafe { held.cases(2) }.expect("they are known");
        let lead = |case: &AtomicU64| case.load(Ordering::Relaxed) == BEHIND;
        assert!(cases.iter().all(lead));
    }

    #[test]
    fn there_are_not_too_many() {
        let held = held();
        held.begin(0x5000, MOST + 1);
        assert_eq!(held.table(), None);
    }
}
