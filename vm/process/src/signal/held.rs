//! Held signals: signals with the numbers of faults that were sent by a process while the app
//! blocks them. The kernel cannot block these numbers, since the cache needs the real faults. So
//! such signals reach the VM, which keeps them pending for the app.
//!
//! A signal sent to a thread is held by the thread. A signal sent to the process goes to a thread
//! that does not block it; if there is none, the process holds it until a thread takes it.

use super::sets::{FAULTS, bit};
use ppin_os::frame::SigInfo;
use ppin_os::signals::SigSet;

/// Held signals, at most one of each number: they do not queue.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Held {
    set: SigSet,
    info: [SigInfo; FAULTS.count_ones() as usize],
}

impl Held {
    /// No held signals.
    pub const NONE: Self = Self {
        set: 0,
        info: [SigInfo::NONE; FAULTS.count_ones() as usize],
    };

    /// The set of held signals.
    #[must_use]
    pub fn set(&self) -> SigSet {
        self.set
    }

    /// Drops held signals of the set `signals`.
    pub fn forget(&mut self, signals: SigSet) {
        self.set &= !signals;
    }

    /// Drops all. What holds none is not written to: its page may be shared with a forked child.
    pub fn clear(&mut self) {
        if self.set != 0 {
            self.set = 0;
        }
    }

    /// Holds the signal of `info`, unless one of its number is held already.
    pub fn put(&mut self, info: &SigInfo) {
        let bit = bit(info.signo as u32);
        if self.set & bit == 0 {
            self.set |= bit;
            self.info[Self::place(bit)] = *info;
        }
    }

    /// Removes and returns the held signal of `wanted` with the lowest number.
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use ppin_os::c;

    fn info(signo: u32, code: i32) -> SigInfo {
        let mut info = SigInfo::NONE;
        (info.signo, info.code) = (signo as i32, code);
        info
    }

    #[test]
    fn the_first_of_each_number_is_held_and_the_lowest_taken_first() {
        let mut held = Held::NONE;
        for (n, signo) in (0..).zip([c::SIGSEGV, c::SIGILL, c::SIGSEGV, c::SIGTRAP]) {
            held.put(&info(signo, n));
        }
        let taken: Vec<_> = core::iter::from_fn(|| held.take(FAULTS))
            .map(|info| (info.signo as u32, info.code))
            .collect();
        assert_eq!(taken, [(c::SIGILL, 1), (c::SIGTRAP, 3), (c::SIGSEGV, 0)]);
        assert_eq!(held.set(), 0);
    }

    #[test]
    fn only_what_is_wanted_is_taken_or_forgotten() {
        let mut held = Held::NONE;
        held.put(&info(c::SIGBUS, 0));
        held.put(&info(c::SIGFPE, 0));
        assert!(held.take(bit(c::SIGSEGV)).is_none());
        held.forget(bit(c::SIGBUS));
        assert_eq!(held.set(), bit(c::SIGFPE));
        assert_eq!(held.take(FAULTS).map(|i| i.signo as u32), Some(c::SIGFPE));
    }
}
