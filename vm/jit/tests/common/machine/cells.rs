//! Jumps through cells.

use super::{Machine, SLOTS};
use crate::common::capture::State;
use ppin_abi::area::Entry;
use ppin_relocator::{Fragment, SlotInit};

impl Machine {
    /// Runs `fragment`, made from `code`, whose jump goes through a sealed cell: `led` to a place that nothing
    /// else leads to, or not. Otherwise as [`Machine::predicted`].
    pub fn through_sealed(
        &mut self,
        code: &[u8],
        fragment: &Fragment,
        led: bool,
        state: &State,
    ) -> (bool, State) {
        self.reset(code);
        self.install(fragment);
        let there = self.host.routines[Entry::Vm as usize];
        let slot = (self.prediction(fragment) - self.near as u64) as usize;
        if led {
            self.near_bytes()[slot..][..8].copy_from_slice(&there.to_le_bytes());
        }
        self.follow(fragment, there, state)
    }

    /// Runs `fragment`, made from `code`, whose jump through a cell is predicted to go to `target`, and then
    /// to a place that nothing else leads to. Whether it gets there, and the state where it goes on; app
    /// registers that are put away are not put back.
    pub fn predicted(
        &mut self,
        code: &[u8],
        fragment: &Fragment,
        target: u64,
        state: &State,
    ) -> (bool, State) {
        self.reset(code);
        self.install(fragment);
        let there = self.host.routines[Entry::Vm as usize];
        let slots = self.prediction(fragment) - self.near as u64;
        for (at, value) in [(slots, target.wrapping_neg()), (slots + 8, there)] {
            self.near_bytes()[at as usize..][..8].copy_from_slice(&value.to_le_bytes());
        }
        self.follow(fragment, there, state)
    }

    /// Runs `fragment`; whether it gets `there`.
    fn follow(&mut self, fragment: &Fragment, there: u64, state: &State) -> (bool, State) {
        let end = self.run(self.near as u64 + u64::from(fragment.entry), state);
        let elsewhere = self.host.routines[Entry::Mispredicted as usize];
        assert!([there, elsewhere].contains(&end.pc), "{:#x}", end.pc);
        (end.pc == there, end.state)
    }

    /// Address of the first slot of the jump through a cell in `fragment`.
    pub fn prediction(&self, fragment: &Fragment) -> u64 {
        let first = |slot: &SlotInit| matches!(slot, SlotInit::Prediction(_) | SlotInit::Behind(_));
        let first = fragment.slots.iter().position(first);
        self.near as u64 + SLOTS + 8 * first.expect("its jump goes through a cell") as u64
    }

    /// The last bytes of installed code before address `end`.
    pub fn before<const N: usize>(&mut self, end: u64) -> [u8; N] {
        let end = (end - self.near as u64) as usize;
        *self.near_bytes()[..end].last_chunk().expect("so many")
    }
}
