//! `ppin run --check=sample`: now and then compares translated code with native execution.
//!
//! After every so many *arrivals* (entries into the cache from the VM, and lookups of indirect
//! branches, which [`ppin_process::gate::ibl`] counts) two copies of the process are made:
//!
//! ```text
//! program   waits in the VM for the result, then goes on
//!  └ native      steps the app's own code equally far, and compares (native.rs)
//!     └ translated   steps the cache's code first, with all links,
//!                    and notes the app's state at every boundary   (translated.rs)
//! ```
//! Both copies begin with the same registers and memory, which no other process writes to. They are
//! single-stepped; [`on_signal`] handles the traps. Results go to a [`record::Record`] in memory
//! that the three processes share. The general registers are compared at every instruction, the
//! flags wherever a fragment is entered, and at the end the x87 and vector registers and the memory
//! stored to.
//!
//! A sample ends where the cache is left, before an instruction that cannot be executed twice (a
//! system call, `rdtsc`; see `ppin_decode::stores`) or that announces a restartable sequence, in the
//! vdso, and at memory shared with other processes, which the copies cannot access. So samples have
//! no effect outside: the copies make no system call of the program, are children that ordinary
//! waits do not see, and receive no signals.

mod avoided;
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

/// Average number of arrivals between two samples, when time is the limit.
const DENSE: u64 = 1000;
/// Time that samples may take at the start.
const ADVANCE_NS: u64 = 100_000_000;
const SHARE: u64 = 3;

/// Turns sampling on if the configuration asks for it, before the first thread is made.
pub(crate) fn init(config: &Config) {
    if config.flags & flag::SAMPLE != 0 {
        vector::learn_layout();
        sampling::begin();
    }
}

/// Called before the thread enters the cache at `entry`; returns the address to enter, which is
/// another one in a copy.
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
    let every = vm::lock().config().check_every;
    thread.area.scratch[COUNTDOWN] = gap(if every == 0 { DENSE } else { every });
    if every == 0 && !in_time(&vm::lock()) {
        return entry;
    }
    sample(thread, entry, pc)
}

/// The app's pc, if the complete app state is known and no signal, trap or native instruction is
/// being handled.
fn suitable(vm: &Vm, thread: &Thread, entry: CachePc) -> Option<AppPc> {
    let signals = &thread.signals;
    let busy = thread.pending != 0
        || thread.borrowed_memory
        || thread.reason == Reason::Trap as u64
        || signals.stepping
        || signals.native != Native::Off
        || signals.trap_flag.traps()
        // (The userfaultfd would report the copies.)
        || userfault::is_on();
    if busy || vm.is_filtered() || sequence::is_inside(vm, entry.0) {
        return None;
    }
    let spot = translate::spot(vm, entry.0).filter(|spot| spot.boundary);
    spot.map(|spot| spot.pc)
}

/// A random number of arrivals, so that samples do not always hit the same place of a loop.
fn gap(every: u64) -> u64 {
    let random = time::ticks().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    random % (2 * every)
}

fn in_time(vm: &Vm) -> bool {
    vm.stats().check().spent_ns() < ADVANCE_NS + SHARE * time::processor_ns()
}

fn sample(thread: &mut Thread, entry: CachePc, pc: AppPc) -> CachePc {
    let started = time::monotonic_ns();
    let Some(shared) = Shared::map() else {
        vm::lock().stats_mut().checked(None, 0);
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
    let same = record.outcome == Outcome::Same as u32;
    let agreed = same.then(|| u64::from(record.steps()));
    let spent = time::monotonic_ns().saturating_sub(started);
    vm.stats_mut().checked(agreed, spent);
    entry
}

/// Ends the program with a report: translated code has done something that the app's code does not.
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
