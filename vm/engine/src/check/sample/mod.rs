//! `ppin run --check=sample`: now and then, translated code against the processor.
//!
//! Every so many *arrivals* (entries into the cache from the VM, and lookups of indirect
//! branches, which [`ppin_process::gate::ibl`] counts) two copies of the process are made:
//!
//! ```text
//! program   waits in the VM for the verdict, and goes on as if nothing had been
//!  └ native      steps the app's own code as far, and compares     (native.rs)
//!     └ translated   steps the cache's code first, with all links,
//!                    and notes the app's state at every boundary   (translated.rs)
//! ```
//! Both begin with the same registers and memory, and nobody else writes to theirs. Their
//! steps are traps that [`on_signal`] takes; what they find is in a [`record::Record`],
//! memory that the three share. Compared are the general registers at every
//! instruction, flags wherever a fragment is entered, and in the end the x87 and vector
//! registers and the memory stored to.
//!
//! A stretch ends where the cache is left, before an instruction that cannot be made
//! twice (a system call, `rdtsc`; see `ppin_jit::stores`) or that announces a restartable
//! sequence, in the vdso, and at memory shared with other processes, which is out of the
//! copies' reach. So neither the world nor the program notices: copies make no call of the
//! program's, are children that ordinary waits do not see, and hear no signals.

mod copies;
mod native;
mod record;
mod steps;
mod translated;
mod vector;

use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::boot::flag;
use ppin_os::{proc, report, time, userfault};
use ppin_process::config::Config;
use ppin_process::report::diagnosis;
use ppin_process::sampling::{self, COUNTDOWN, is_on};
use ppin_process::signal::native::Native;
use ppin_process::thread::{Reason, Thread};
use ppin_process::translate;
use ppin_process::vm::{self, Vm};
use ppin_translate::sequence;
use record::{Outcome, Record, Shared};
pub(crate) use steps::{in_copy, left_cache, on_signal};

/// Arrivals between two samples, on average, where time is the limit.
const DENSE: u64 = 1000;
/// Time that samples may take in the beginning, and later for each unit of processor time
/// of the process itself: others may wait for it, or run beside it.
const ADVANCE_NS: u64 = 100_000_000;
const SHARE: u64 = 3;

/// Learns whether samples are wanted, before the first thread is made.
pub(crate) fn init(config: &Config) {
    if config.flags & flag::SAMPLE != 0 {
        vector::learn_layout();
        sampling::begin();
    }
}

/// The thread is about to enter the cache at `entry`: where it really goes on, which is
/// elsewhere in a copy.
#[inline]
pub(crate) fn arrival(thread: &mut Thread, entry: CachePc) -> CachePc {
    if is_on() { count(thread, entry) } else { entry }
}

#[cold]
fn count(thread: &mut Thread, entry: CachePc) -> CachePc {
    let left = &mut thread.area.scratch[COUNTDOWN];
    if *left > 0 {
        *left -= 1;
        return entry;
    }
    let Some(pc) = suitable(&vm::lock(), thread, entry) else {
        return entry;
    };
    let every = vm::lock().config.check_every;
    thread.area.scratch[COUNTDOWN] = gap(if every == 0 { DENSE } else { every });
    if every == 0 && !in_time(&vm::lock()) {
        return entry;
    }
    sample(thread, entry, pc)
}

/// The app's pc, if the whole state of the app is at hand and nothing is under way.
fn suitable(vm: &Vm, thread: &Thread, entry: CachePc) -> Option<AppPc> {
    let signals = &thread.signals;
    let busy = thread.pending != 0
        || thread.borrowed_memory
        || thread.reason == Reason::Trap as u64
        || signals.stepping
        || signals.native != Native::Off
        || signals.trap_flag.traps()
        // It would be told of the copies.
        || userfault::is_on();
    if busy || vm.filtered || sequence::is_inside(vm, entry.0) {
        return None;
    }
    let spot = translate::spot(vm, entry.0).filter(|spot| spot.boundary);
    spot.map(|spot| spot.pc)
}

/// A random number of arrivals, so that no loop keeps step with it.
fn gap(every: u64) -> u64 {
    let random = time::ticks().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    random % (2 * every)
}

fn in_time(vm: &Vm) -> bool {
    vm.stats.check.spent_ns < ADVANCE_NS + SHARE * time::processor_ns()
}

fn sample(thread: &mut Thread, entry: CachePc, pc: AppPc) -> CachePc {
    let started = time::monotonic_ns();
    let Some(shared) = Shared::map() else {
        vm::lock().stats.check.sampled += 1;
        return entry;
    };
    if let Some(entry) = copies::make(thread, entry, pc, &shared) {
        core::mem::forget(shared); // in a copy, which needs it
        return entry;
    }
    let record = shared.get();
    if record.outcome == Outcome::Different as u32 {
        complain(thread, record);
    }
    let mut vm = vm::lock();
    let figures = &mut vm.stats.check;
    figures.sampled += 1;
    if record.outcome == Outcome::Same as u32 {
        figures.equal += 1;
        figures.instructions += u64::from(record.steps());
    }
    figures.spent_ns += time::monotonic_ns().saturating_sub(started);
    entry
}

/// Translated code has done what the app's does not.
fn complain(thread: &Thread, record: &Record) -> ! {
    let difference = record.difference;
    let place = record.place(difference.place.saturating_sub(1));
    let name = ppin_process::words::name(&vm::lock(), AppPc(place.pc));
    let what = format_args!(
        "ppin: --check: translated code is NOT the same: behind the instruction at {name}, {difference}"
    );
    diagnosis::say(what, Some(thread), Some(place.cache));
    proc::exit_group(report::PPIN_FAILED)
}
