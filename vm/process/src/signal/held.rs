//! Signals with the numbers of faults, sent by somebody, while the app blocks them. The
//! kernel does not know that they are blocked, since the cache needs the real ones: they
//! arrive here, and are pending as the app sees it.
//!
//! One sent to a thread stays with it. One sent to the process goes on to a thread that
//! would take it; if there is none, the process holds it until one asks.

use super::sets::{FAULTS, bit};
use ppin_os::frame::SigInfo;
use ppin_os::signals::SigSet;

/// Some such signals, one of each number: they do not queue.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Held {
    set: SigSet,
    info: [SigInfo; FAULTS.count_ones() as usize],
}

impl Held {
    /// None.
    pub const NONE: Self = Self {
        set: 0,
        info: [SigInfo::NONE; FAULTS.count_ones() as usize],
    };

    /// Those held.
    #[must_use]
    pub fn set(&self) -> SigSet {
        self.set
    }

    /// Forgets those of `signals`.
    pub fn forget(&mut self, signals: SigSet) {
        self.set &= !signals;
    }

    /// Holds `info`, unless another of its number is held.
    pub fn put(&mut self, info: &SigInfo) {
        let bit = bit(info.signo as u32);
        if self.set & bit == 0 {
            self.set |= bit;
            self.info[Self::place(bit)] = *info;
        }
    }

    /// Takes the lowest of `wanted` out.
    pub fn take(&mut self, wanted: SigSet) -> Option<SigInfo> {
        let found = self.set & wanted;
        let lowest = found & found.wrapping_neg();
        self.set &= !lowest;
        (lowest != 0).then(|| self.info[Self::place(lowest)])
    }

    fn place(bit: SigSet) -> usize {
        (FAULTS & (bit - 1)).count_ones() as usize
    }
}
