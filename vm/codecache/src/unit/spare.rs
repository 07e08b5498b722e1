//! Spare stubs: those of a unit that belong to no exit, until links of the file are taken back ([`super::unlink`]).

use super::bound::Bound;
use crate::exit::number_at;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::record::stub;

/// The exit that a spare stub was given to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Given {
    /// Number of its fragment.
    pub fragment: u32,
    /// Which of that one's exits.
    pub exit: u32,
}

impl Bound {
    /// Gives the next spare stub to `exit`; its cache address. `None`: all are in use.
    pub(super) fn give_spare(&mut self, exit: Given) -> Option<u64> {
        let spares = self.unit.spares();
        let number = self.given.len() as u32;
        if number >= spares.count {
            return None;
        }
        let stub = self.cold() + u64::from(spares.cold + stub::at(number as usize));
        let slot = self.exit_slots() + 8 * u64::from(spares.slot + number);
        self.given.push(exit);
        // SAFETY: an aligned cell of the unit's, mapped as long as it is.
        let slot = unsafe { AtomicU64::from_ptr(slot as *mut u64) };
        slot.store(stub + u64::from(stub::LEAVE), Ordering::Relaxed);
        Some(stub)
    }

    /// What the spare stub at `cold` in the cold section was given to, and the number of its slot.
    pub(super) fn spare_at(&self, cold: u32) -> Option<(Given, u32)> {
        if self.given.is_empty() {
            return None;
        }
        let spares = self.unit.spares();
        let number = number_at(cold.checked_sub(spares.cold)?.into(), spares.count as usize)?;
        let given = self.given.get(number)?;
        Some((*given, spares.slot + number as u32))
    }

    /// Whether exit slot `number` is a spare stub's.
    pub(super) fn is_spare_slot(&self, number: u32) -> bool {
        number >= self.unit.spares().slot
    }
}
