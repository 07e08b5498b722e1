//! Landings: where indirect jumps and calls arrive that have found their place in the thread's table
//! and go to a fragment that has no code for that itself (`ppin_relocator::Fragment::entry`).
//!
//! Each is a piece of code of the gate (`ppin_process::gate`) and a [`Landing`], the data that it
//! goes by: it compares the target of the branch, and goes on at its translation. A landing is given
//! to one app address for good: who is on the way through it finds the address that it was compared
//! with, and a translation that was in use when the branch was made. So one for which there is no
//! translation any more waits for the next, and when all are given out, other branches are looked up
//! in the table of the process.

use alloc::collections::BTreeMap;
use core::sync::atomic::{AtomicU64, Ordering};

/// What a landing goes by.
#[derive(Debug)]
#[repr(C)]
pub struct Landing {
    /// App address that it is for.
    pc: AtomicU64,
    /// Cache address where that goes on.
    target: AtomicU64,
}

impl Landing {
    /// Of no address.
    #[must_use]
    pub const fn free() -> Self {
        Self {
            pc: AtomicU64::new(0),
            target: AtomicU64::new(0),
        }
    }
}

/// Number of landings: as many as one thread can know.
pub const LANDINGS_COUNT: usize = ppin_abi::area::NEAR_ENTRIES;

/// Bytes of code of each. No multiple of 8: AMD processors predict an indirect jump by where the last
/// jumps went, of which they keep bits 2 and 3, but few others, and landings should tell them which
/// address was jumped to. (Zen 4: virtual calls 6.7 times native with 48, 2.4 with 44.)
pub const LANDING_LEN: usize = 44;

/// The landings of the process. Their code reads them.
pub static LANDINGS: [Landing; LANDINGS_COUNT] = [const { Landing::free() }; LANDINGS_COUNT];

/// Who has which landing; under the VM lock.
#[derive(Debug)]
pub struct Landings {
    all: &'static [Landing],
    /// Address of the code of the first.
    code: u64,
    /// Numbers, by app address.
    given: BTreeMap<u64, usize>,
}

impl Landings {
    /// Landings that are free, with their code at `code`: in a process, [`LANDINGS`].
    #[must_use]
    pub const fn new(all: &'static [Landing], code: u64) -> Self {
        Self {
            all,
            code,
            given: BTreeMap::new(),
        }
    }

    /// Address of the landing of `pc`, if it has one.
    pub(crate) fn of(&self, pc: u64) -> Option<u64> {
        self.given.get(&pc).map(|number| self.address(*number))
    }

    /// Lets the landing of `pc` lead to `target`; its address. `None`: it has none, and none is
    /// left.
    pub(crate) fn lead(&mut self, pc: u64, target: u64) -> Option<u64> {
        let next = self.given.len();
        let number = *self.given.get(&pc).unwrap_or(&next);
        let landing = self.all.get(number)?;
        landing.target.store(target, Ordering::Release);
        if number == next {
            landing.pc.store(pc, Ordering::Release);
            self.given.insert(pc, number);
        }
        Some(self.address(number))
    }

    const fn address(&self, number: usize) -> u64 {
        self.code + (number * LANDING_LEN) as u64
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use alloc::boxed::Box;
    use alloc::vec::Vec;

    /// Where the code of the tests' landings lies, as it were.
    const CODE: u64 = 0x7000_0000;

    /// So many landings of the test's own.
    pub(crate) fn landings(count: usize) -> Landings {
        let all: Vec<Landing> = (0..count).map(|_| Landing::free()).collect();
        Landings::new(Box::leak(all.into_boxed_slice()), CODE)
    }

    impl Landings {
        /// Where a branch to `pc` goes on that arrives at `address`.
        pub(crate) fn leads(&self, address: u64, pc: u64) -> Option<u64> {
            let number = (address.checked_sub(self.code)? / LANDING_LEN as u64) as usize;
            let landing = self.all.get(number)?;
            let same = landing.pc.load(Ordering::Relaxed) == pc;
            same.then(|| landing.target.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn an_address_keeps_its_landing() {
        let mut landings = landings(2);
        let one = landings.lead(0x1000, 7).unwrap();
        let two = landings.lead(0x2000, 8).unwrap();
        assert_eq!((one, two), (CODE, CODE + LANDING_LEN as u64));
        assert_eq!(landings.lead(0x1000, 9), Some(one));
        assert_eq!(landings.leads(one, 0x1000), Some(9));
        assert_eq!(landings.leads(one, 0x2000), None);
        assert_eq!(
            (landings.of(0x2000), landings.of(0x3000)),
            (Some(two), None)
        );
    }

    #[test]
    fn when_all_are_given_out_there_are_none() {
        let mut landings = landings(2);
        for pc in 0..2 {
            assert!(landings.lead(pc, 7).is_some());
        }
        assert_eq!(landings.lead(2, 7), None);
        assert_eq!(landings.of(2), None);
        assert!(landings.lead(1, 8).is_some());
    }
}
