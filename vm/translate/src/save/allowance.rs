//! How much a run may spend on later runs: a fiftieth of the processor time that it has used.
//!
//! Exploring a program thoroughly costs several times its start-up. The user who waits for the
//! program must not wait for that, so it is left to `ppin warm`.

use ppin_abi::boot::flag;
use ppin_os::time;
use ppin_process::vm::Vm;

/// The run may spend one part in so many of its processor time.
const SHARE: u64 = 50;
/// Cost of translating and writing one trace, in nanoseconds.
const TRACE: u64 = 10_000;
/// Time that merging may always take, in nanoseconds.
const MERGE: u64 = 1_000_000;
/// Cost of merging a kilobyte of units, in nanoseconds.
const KILOBYTE: u64 = 4_000;

/// How much a run may spend on later runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// The run's purpose is to explore: `ppin warm`.
    pub exploring: bool,
    /// Number of traces that may be translated although they were not executed.
    pub traces: usize,
    /// Bytes of units that may be merged.
    pub merge: u64,
    /// The program does not go on at once: its turn may come to merge more.
    pub takes_turns: bool,
}

impl Allowance {
    /// For a run that ends now.
    pub(super) fn of_run(vm: &Vm) -> Self {
        let spare = time::processor_ns() / SHARE;
        Self {
            exploring: vm.config().flags & flag::EXPLORE != 0,
            traces: (spare / TRACE) as usize,
            merge: bytes(spare.max(MERGE)),
            takes_turns: true,
        }
    }

    /// For saving while the program goes on.
    pub(super) const fn in_passing() -> Self {
        Self {
            exploring: false,
            traces: 0,
            merge: bytes(MERGE),
            takes_turns: false,
        }
    }

    /// Notes that `traces` traces were translated.
    pub(super) fn translated(&mut self, traces: usize) {
        self.traces = self.traces.saturating_sub(traces);
    }

    /// Notes that `len` bytes were merged.
    pub(super) fn merged(&mut self, len: u64) {
        self.merge = self.merge.saturating_sub(len);
    }
}

const fn bytes(nanoseconds: u64) -> u64 {
    (nanoseconds << 10) / KILOBYTE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_is_not_allowed_any_more() {
        let mut rest = Allowance {
            exploring: false,
            traces: 10,
            merge: 1000,
            takes_turns: true,
        };
        rest.translated(4);
        rest.merged(300);
        assert_eq!((rest.traces, rest.merge), (6, 700));
        rest.translated(7);
        rest.merged(701);
        assert_eq!((rest.traces, rest.merge), (0, 0));
    }

    #[test]
    fn a_program_that_goes_on_merges_for_a_millisecond() {
        let passing = Allowance::in_passing();
        assert!(!passing.exploring && passing.traces == 0 && !passing.takes_turns);
        assert_eq!(passing.merge * KILOBYTE / 1024, MERGE);
        let world = crate::testing::World::with_flags(flag::EXPLORE);
        let at_end = Allowance::of_run(&world.vm);
        assert!(at_end.exploring && at_end.merge >= passing.merge);
    }
}
