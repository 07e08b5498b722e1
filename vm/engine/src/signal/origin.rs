//! Finds the indirect branch that led to an address which cannot be jumped to.
//!
//! The CPU raises the fault at the branch, before the branch has any effect. But the translated
//! branch has been left. It has noted where it is. If its translation is gone since, the app's code
//! is followed from where the last system call returned to a branch that fits.

use alloc::collections::{BTreeSet, VecDeque};
use ppin_abi::addr::AppPc;
use ppin_decode::origin::{self, Registers, Surroundings};
use ppin_jit::MAX_TRACE_BYTES;
use ppin_os::peek;
use ppin_process::signal::departure::Departure;
use ppin_process::vm::{self, Vm};

/// Most stretches of straight code that are examined.
const MOST: usize = 10_000;

/// Memory and segments of a thread; holds its gs base.
struct Memory(u64);

impl Surroundings for Memory {
    fn word(&self, address: u64) -> Option<u64> {
        peek::read_value(address)
    }
    fn segment_base(&self, gs: bool) -> u64 {
        if gs {
            self.0
        } else {
            ppin_os::segment::fs_base()
        }
    }
}

/// The branch of `departure`, with the registers before it; `after` are the registers after it.
#[must_use]
pub(crate) fn find(departure: &Departure, after: &Registers) -> Option<(AppPc, Registers)> {
    let mut ahead = starts(&vm::lock(), departure);
    let mut seen: BTreeSet<AppPc> = ahead.iter().copied().collect();
    while let Some(pc) = ahead.pop_front() {
        let mut bytes = [0; MAX_TRACE_BYTES];
        let len = peek::read(pc.0, &mut bytes);
        let line = origin::line(pc, &bytes[..len]);
        let found = line.end.and_then(|branch| {
            let before = branch.before(after, departure.target, &Memory(departure.gs_base))?;
            Some((branch.pc(), before))
        });
        if found.is_some() || seen.len() > MOST {
            return found;
        }
        ahead.extend(
            line.targets
                .into_iter()
                .filter(|target| seen.insert(*target)),
        );
    }
    None
}

fn starts(vm: &Vm, departure: &Departure) -> VecDeque<AppPc> {
    let at = |address| ppin_process::translate::spot(vm, address).map(|spot| spot.pc);
    let starts = [departure.left_at, departure.resumed];
    starts.into_iter().filter_map(at).collect()
}
