//! A fragment whose jumps go through cells, and the slots by which they go on. Code reads these without a lock; who
//! holds the VM's writes them.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::predicted;
use ppin_os::peek;

/// A fragment that is in use.
pub struct Site {
    /// First slot, and behind the last.
    slots: Range<u64>,
    /// The app code that it was made from.
    pub source: Range<u64>,
    /// Where it is entered.
    pub entry: u64,
    /// By calls of the CPU ([`ppin_abi::context::Context::CALLED`]).
    called: bool,
}

impl Site {
    /// A fragment with these slots, made from this app code, entered at cache address `entry`, and by calls if
    /// `called`.
    ///
    /// # Safety
    /// The slots are there, and outlast the result and what it gives.
    #[must_use]
    pub const unsafe fn new(
        slots: Range<u64>,
        source: Range<u64>,
        entry: u64,
        called: bool,
    ) -> Self {
        Self {
            slots,
            source,
            entry,
            called,
        }
    }

    /// Whether `entry` is where calls of the CPU enter it.
    #[must_use]
    pub const fn is_called_at(&self, entry: CachePc) -> bool {
        self.called && entry.0 == self.entry
    }

    /// The slots at `first` and behind it, if they are this one's.
    #[must_use]
    pub fn pair(&self, first: u64) -> Option<Pair> {
        let both = self.slots.contains(&first) && self.slots.contains(&(first + 8));
        // SAFETY: its own: the promise of `new`.
        (both && first.is_multiple_of(8)).then(|| unsafe { Pair::at(first) })
    }

    /// The `count` slots from `first` on, if they are this one's.
    #[must_use]
    pub fn slots(&self, first: u64, count: usize) -> Option<&'static [AtomicU64]> {
        let end = first.checked_add(8 * count as u64)?;
        let own = self.slots.start <= first && end <= self.slots.end && first.is_multiple_of(8);
        // SAFETY: its own, aligned and writable: the promise of `new`.
        own.then(|| unsafe { core::slice::from_raw_parts(first as *const AtomicU64, count) })
    }

    /// Whether the jump with these slots, which leads behind itself yet, comes first, and so passes calls on as they are.
    #[must_use]
    pub fn passes_on(&self, slots: Pair) -> bool {
        let [behind, _] = slots.values();
        self.called && behind == self.entry + predicted::JUMP_LEN
    }

    /// Where the jump with the slots at `first` is predicted to go on, if it is.
    #[must_use]
    pub fn predicted(&self, first: u64) -> Option<u64> {
        let slots = self.pair(first)?;
        let [value, other] = slots.values();
        match slots.cell() {
            Some(_) => (!slots.leads_behind()).then_some(value),
            None => (value != self.source.start.wrapping_neg()).then_some(other),
        }
    }
}

/// Two slots by which a jump goes: what is compared with its cell, and where it goes on then; or where it goes,
/// and its cell, which does not change.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    first: u64,
}

impl Pair {
    /// Those at `first`.
    ///
    /// # Safety
    /// There and behind it are slots, which outlast the result.
    #[must_use]
    pub const unsafe fn at(first: u64) -> Self {
        Self { first }
    }

    /// Address of the first.
    #[must_use]
    pub const fn first(self) -> u64 {
        self.first
    }

    /// The cell, if it is not compared with anything.
    #[must_use]
    pub fn cell(self) -> Option<u64> {
        let [value, cell] = self.values();
        // (What is compared is the negative of an address, and no cache address is.)
        (value.cast_signed() >= 0).then_some(cell)
    }

    /// Whether the jump goes on behind itself, its cell not being compared with anything.
    #[must_use]
    pub fn leads_behind(self) -> bool {
        let [behind, _] = self.values();
        let mut jump = [0; predicted::JUMP_LEN as usize];
        let start = behind.wrapping_sub(predicted::JUMP_LEN);
        let whole = peek::read(start, &mut jump) == jump.len();
        whole && predicted::goes_through(&jump, behind, self.first)
    }

    /// Whether nothing has ever been predicted by them. They are those of the fragment for app address `head`
    /// that is entered at `own`, and of no other if they hold what its slots do.
    #[must_use]
    pub fn are_unwritten(self, head: AppPc, own: u64) -> bool {
        self.values() == [head.0.wrapping_neg(), own]
    }

    /// Says where the jump goes on. Nobody reads it before the first slot is written.
    pub fn lead_to(self, entry: CachePc) {
        self.slots()[1].store(entry.0, Ordering::Relaxed);
    }

    /// What they hold.
    #[must_use]
    pub fn values(self) -> [u64; 2] {
        self.slots().map(|slot| slot.load(Ordering::Relaxed))
    }

    fn slots(self) -> [&'static AtomicU64; 2] {
        // SAFETY: aligned, mapped and writable: the promise of `at`.
        [self.first, self.first + 8].map(|at| unsafe { AtomicU64::from_ptr(at as *mut u64) })
    }
}
