//! What a run may spend on later runs: a fiftieth of the processor time that it has taken.
//!
//! Exploring a program thoroughly costs several times its start. Whoever waits for the
//! program must not wait for that, so it is left to `ppin warm`.

use ppin_abi::boot::flag;
use ppin_os::time;
use ppin_process::vm::Vm;

/// Share of the processor time: one part of so many.
const SHARE: u64 = 50;
/// What translating and writing one trace costs, in nanoseconds.
const TRACE: u64 = 10_000;
/// Merging may always take so long, in nanoseconds.
const MERGE: u64 = 1_000_000;
/// Nanoseconds in which a kilobyte of units is merged.
const KILOBYTE: u64 = 8_000;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// The run is there to explore: `ppin warm`.
    pub exploring: bool,
    /// Traces that may be translated though nothing has reached them.
    pub traces: usize,
    /// Bytes of units that may be merged.
    pub merge: u64,
}

impl Allowance {
    /// For a run that ends now.
    pub(super) fn of_run(vm: &Vm) -> Self {
        let spare = time::processor_ns() / SHARE;
        Self {
            exploring: vm.config.flags & flag::EXPLORE != 0,
            traces: (spare / TRACE) as usize,
            merge: bytes(spare.max(MERGE)),
        }
    }

    /// For what is saved while the program runs on.
    pub(super) const fn in_passing() -> Self {
        Self {
            exploring: false,
            traces: 0,
            merge: bytes(MERGE),
        }
    }

    /// So many traces were translated.
    pub(super) fn translated(&mut self, traces: usize) {
        self.traces = self.traces.saturating_sub(traces);
    }

    /// So many bytes were merged.
    pub(super) fn merged(&mut self, len: u64) {
        self.merge = self.merge.saturating_sub(len);
    }
}

const fn bytes(nanoseconds: u64) -> u64 {
    (nanoseconds << 10) / KILOBYTE
}
