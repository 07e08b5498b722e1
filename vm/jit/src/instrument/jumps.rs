//! Where a tool may lead the app away, in the middle of a trace.
//!
//! Who is led away has not executed what follows: nothing of that is counted or recorded before, and
//! all registers and flags are alive there.

use alloc::vec::Vec;
use ppin_api::compiler::{CallInsertion, Destination};

/// Indexes of instructions before which the app may be led away, ascending; the number of
/// instructions, if it may be behind the last.
#[derive(Default)]
pub(super) struct Jumps(Vec<usize>);

impl Jumps {
    /// Those among `calls`.
    pub(super) fn of(calls: &[CallInsertion]) -> Self {
        let jumps = |call: &&CallInsertion| call.into == Some(Destination::ProgramCounter);
        let at = |call: &CallInsertion| call.ins as usize + usize::from(call.after);
        let mut all: Vec<usize> = calls.iter().filter(jumps).map(at).collect();
        all.sort_unstable();
        Self(all)
    }

    /// Whether there are none.
    pub(super) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the app may be led away before instruction `index`.
    pub(super) fn leave_before(&self, index: usize) -> bool {
        self.0.binary_search(&index).is_ok()
    }
}
