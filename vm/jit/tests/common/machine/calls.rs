//! What a call of the CPU leaves on the app's stack, below the app's return address, and what the runtime
//! makes of it.

use super::{Machine, RSP, STATE};
use crate::common::capture::{Capture, State};
use ppin_abi::area::RETURNS;
use ppin_relocator::Fragment;

impl Machine {
    /// A direct call has left `fragment`: its cache address lies at `rsp`.
    pub(super) fn take_call(&mut self, fragment: &Fragment, end: &mut Capture) {
        let rsp = end.state.regs[RSP];
        let at = (rsp - self.app()) as usize;
        let word = self.app_bytes()[at..at + 8].try_into().unwrap();
        let behind = u64::from_le_bytes(word).wrapping_sub(self.near as u64);
        assert!(behind < fragment.hot.len() as u64, "behind the call");
        // (A stack may lie in code, which is not compared.)
        let in_state = at.checked_sub(STATE.start);
        let natively = in_state.and_then(|at| self.left_natively.get(at..at + 8));
        if let Some(natively) = natively.map(<[u8]>::to_vec) {
            self.app_bytes()[at..at + 8].copy_from_slice(&natively);
        }
        end.state.regs[RSP] = rsp + 8;
    }

    /// Enters `fragment`, made from `code`, by a call of the CPU that pushes `address`: the return
    /// cache's entry for the app's return address at the stack pointer of `state`, the word below that,
    /// and the state at the end of the run.
    pub fn called(
        &mut self,
        code: &[u8],
        fragment: &Fragment,
        address: u64,
        state: &State,
    ) -> (u64, u64, State) {
        self.reset(code);
        self.install(fragment);
        let mut called = *state;
        called.regs[RSP] -= 8;
        let at = (called.regs[RSP] - self.app()) as usize;
        self.app_bytes()[at..at + 8].copy_from_slice(&address.to_le_bytes());
        let end = self.run(self.near as u64, &called);
        let hot = end.pc - self.near as u64;
        assert!(hot <= fragment.hot.len() as u64, "it ends in the piece");
        let entry = usize::from(called.regs[RSP] as u16 & !7);
        let entry = self.area_word(RETURNS as usize + entry);
        let below = self.app_bytes()[at..at + 8].try_into().unwrap();
        (entry, u64::from_le_bytes(below), end.state)
    }
}
