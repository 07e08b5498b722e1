//! Landings: where returns come back into a trace, behind one of its calls.
//!
//! A call may be under way for long. When its trace has been taken out of use meanwhile, since its
//! source has changed, the return must not go on in it. A landing compares the address to which the
//! app returns with its own, of which a slot that nobody else reads holds the negative. So a landing is
//! shut by changing the slot: the return is looked up instead. A thread that is about to make the
//! call finds the landing shut, too.
//!
//! Where the VM must see all returns, all landings are shut from the beginning ([`shut_all`]).

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What tells a shut landing's slot from an open one's: no return goes to an address that is not
/// canonical, but to fault.
const SHUT: u64 = 1 << 63;

static ALL_SHUT: AtomicBool = AtomicBool::new(false);

/// Lets no return come back in this process, to no landing.
pub fn shut_all() {
    ALL_SHUT.store(true, Ordering::Relaxed);
}

/// Whether [`shut_all`] has been asked for.
pub(crate) fn all_are_shut() -> bool {
    ALL_SHUT.load(Ordering::Relaxed)
}

/// What the slot of the landing for app address `pc` holds when its code is made known.
pub(crate) fn open_value(pc: u64) -> u64 {
    pc.wrapping_neg() ^ difference()
}

/// What is exclusive-ored to the negative of a landing's app address when its code is made known.
pub(crate) fn difference() -> u64 {
    if all_are_shut() { SHUT } else { 0 }
}

/// A fragment's cells.
pub(crate) struct Landings {
    /// First slot, and behind the last.
    pub slots: Range<u64>,
    /// The app code that the fragment was made from.
    pub source: Range<u64>,
}

impl Landings {
    /// Lets no return come back.
    pub(crate) fn shut(&self) {
        self.turn(0);
    }

    /// Lets them come back: the source is what it was.
    pub(crate) fn open(&self) {
        if !all_are_shut() {
            self.turn(SHUT);
        }
    }

    /// Turns those that are open (0) or shut ([`SHUT`]).
    fn turn(&self, now: u64) {
        for cell in self.slots.clone().step_by(8).map(cell) {
            let value = cell.load(Ordering::Relaxed);
            if self.is_landing(value ^ now) {
                cell.store(value ^ SHUT, Ordering::Relaxed);
            }
        }
    }

    /// Whether a slot with this value is a landing's: no other slot holds negative numbers.
    fn is_landing(&self, value: u64) -> bool {
        let pc = value.wrapping_neg();
        self.source.start < pc && pc <= self.source.end
    }
}

fn cell(at: u64) -> &'static AtomicU64 {
    // SAFETY: a slot of a fragment that is still there: aligned, mapped and writable.
    unsafe { AtomicU64::from_ptr(at as *mut u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landings_are_shut_and_opened_and_other_slots_left_alone() {
        let first = [
            0x1005_u64.wrapping_neg(),
            0x1005,
            0x7000_0000_1005,
            0x1010_u64.wrapping_neg(),
            0x1000_u64.wrapping_neg(),
            0x1011_u64.wrapping_neg(),
            0,
        ];
        let slots = first.map(AtomicU64::new);
        let at = slots.as_ptr() as u64;
        let landings = Landings {
            slots: at..at + 8 * slots.len() as u64,
            source: 0x1000..0x1010,
        };
        let now = || slots.each_ref().map(|slot| slot.load(Ordering::Relaxed));
        landings.open();
        assert_eq!(now(), first);
        landings.shut();
        landings.shut();
        let mut shut = first;
        shut[0] ^= SHUT;
        shut[3] ^= SHUT;
        assert_eq!(now(), shut);
        landings.open();
        landings.open();
        assert_eq!(now(), first);
    }
}
