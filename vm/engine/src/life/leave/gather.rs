//! Halts all threads of the process in the program's own state.
//!
//! One thread is the leader. It sends a signal to each other thread. That thread goes to an
//! instruction boundary of the program, as for any signal, and waits there in the VM's signal
//! handler, with the program's registers in the kernel's frame. When all others wait, only the
//! leader runs. It lets them go on natively, or in the cache ([`Verdict`]).
//!
//! No thread may go on before all wait: threads that run natively must not get the VM's signal
//! dispositions, and threads in the cache must not get the program's.

use super::ask;
use alloc::format;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use ppin_os::futex::{futex_wait, futex_wake_all};
use ppin_os::{dir, proc, signals, time};
use ppin_process::ours::Range;
use ppin_process::signal::HOLD_FAULTS_TOO;
use ppin_process::thread::Thread;
use ppin_process::vm::{self, Vm};

/// The leader's thread id; 0: there is no leader.
static LEADER: AtomicI32 = AtomicI32::new(0);
/// The leader's decision.
static DECISION: AtomicU32 = AtomicU32::new(UNDECIDED);

const UNDECIDED: u32 = 0;
const LEAVE: u32 = 1;
const STAY: u32 = 2;
const DIE: u32 = 3;

/// Milliseconds after which the leader gives up, if no further thread does what all are asked for.
const PATIENCE: u32 = 1000;

/// What a halted thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The thread goes on natively.
    Leave,
    /// The thread goes on natively, until the leader's signal ends the process.
    Die,
    /// The thread goes on in the cache.
    Stay,
}

/// Makes `thread` the leader, unless there is one; returns whether it is.
#[must_use]
pub(crate) fn begin(thread: &Thread) -> bool {
    let free = LEADER.compare_exchange(0, thread.tid, Ordering::AcqRel, Ordering::Relaxed);
    if free.is_ok() {
        DECISION.store(UNDECIDED, Ordering::Release);
    }
    free.is_ok()
}

/// Whether a thread other than `thread` leads.
#[must_use]
pub(crate) fn is_led_by_another(thread: &Thread) -> bool {
    ![0, thread.tid].contains(&LEADER.load(Ordering::Acquire))
}

/// Forgets the leader, in a forked child, which has one thread.
pub(crate) fn forget() {
    LEADER.store(0, Ordering::Release);
}

/// Waits until all other threads have halted; `false`: some did not.
#[must_use]
pub(crate) fn halt_others(leader: &Thread) -> bool {
    none_is_missing(|| ask_missing(leader))
}

/// Waits until no thread is `missing`; `false`: some are still.
fn none_is_missing(mut missing: impl FnMut() -> usize) -> bool {
    let (mut left, mut patience) = (usize::MAX, PATIENCE);
    loop {
        let missing = missing();
        if missing == 0 {
            return true;
        }
        patience = if missing < left {
            PATIENCE
        } else {
            patience - 1
        };
        if patience == 0 {
            return false;
        }
        left = missing;
        time::sleep_a_millisecond();
    }
}

/// Asks all threads that have not been asked; returns how many have not halted yet.
fn ask_missing(leader: &Thread) -> usize {
    let vm = vm::lock();
    let running = |thread: &&Thread| !thread.signals.halted.load(Ordering::Acquire);
    let ask = |thread: &Thread| {
        if thread.tid != 0 && !thread.signals.halt_requested.swap(true, Ordering::Relaxed) {
            signals::queue_to_thread(thread.tid, &ask::request());
        }
    };
    match others(&vm, leader).filter(running).map(ask).count() {
        0 => unlisted_threads(&vm),
        missing => missing,
    }
}

/// Number of threads of the process that are no longer in the VM's list, and are about to end.
fn unlisted_threads(vm: &Vm) -> usize {
    let tasks = dir::list_dir("/proc/self/task").unwrap_or_default();
    let known = |tid: i32| {
        let mut all = vm.threads().all().map(|thread| thread.tid);
        all.any(|it| it == tid)
    };
    let ids = tasks.iter().filter_map(|name| name.parse().ok());
    ids.filter(|tid| !known(*tid) && !has_ended(*tid)).count()
}

/// Whether thread `tid` has ended. (The first thread stays in `/proc` if it ends before the others.)
fn has_ended(tid: i32) -> bool {
    matches!(proc::state(tid), None | Some(b'Z' | b'X'))
}

/// The other threads of the leader's process.
fn others<'a>(vm: &'a Vm, leader: &Thread) -> impl Iterator<Item = &'a Thread> + use<'a> {
    let all = vm.threads().all();
    let leader = leader.tid;
    all.filter(move |thread| !thread.borrowed_memory && thread.tid != leader)
}

/// Called in the signal handler of a thread that is not the leader, at a boundary: waits for the
/// leader's decision. All signals are blocked from here on.
#[must_use]
pub(crate) fn halt(thread: &Thread) -> Verdict {
    signals::set_mask(HOLD_FAULTS_TOO);
    thread.signals.halted.store(true, Ordering::Release);
    loop {
        match DECISION.load(Ordering::Acquire) {
            UNDECIDED => drop(futex_wait(&DECISION, UNDECIDED)),
            LEAVE => return Verdict::Leave,
            DIE => return Verdict::Die,
            _ => break,
        }
    }
    thread.signals.halted.store(false, Ordering::Release);
    Verdict::Stay
}

fn decide(decision: u32) {
    DECISION.store(decision, Ordering::Release);
    futex_wake_all(&DECISION);
}

/// Lets all threads go on in the cache. Those that have not halted can be asked again.
pub(crate) fn stay(leader: &Thread) {
    decide(STAY);
    for thread in others(&vm::lock(), leader) {
        thread
            .signals
            .halt_requested
            .store(false, Ordering::Relaxed);
    }
    let halted = |thread: &Thread| thread.signals.halted.load(Ordering::Acquire);
    while others(&vm::lock(), leader).any(halted) {
        time::sleep_a_millisecond();
    }
    LEADER.store(0, Ordering::Release);
}

/// Lets all threads go on natively, as `verdict` says, and waits until they do; `false`: some may
/// still be in the runtime.
pub(crate) fn leave(leader: &Thread, verdict: Verdict) -> bool {
    let leaving = |thread: &Thread| (thread.tid, thread.signals.makes_call_anew);
    let mut left: Vec<(i32, bool)> = others(&vm::lock(), leader).map(leaving).collect();
    decide(if verdict == Verdict::Die { DIE } else { LEAVE });
    none_is_missing(|| {
        left.retain(|(tid, makes_call)| !goes_on_natively(*tid, *makes_call));
        left.len()
    })
}

/// Memory of the other threads, from which the kernel may still read their frames: it loads their
/// masks first, and their registers after that.
#[must_use]
pub(crate) fn frames(leader: &Thread) -> Vec<Range> {
    let map = |thread: &Thread| (thread.map.0, thread.map.0 + thread.map.1);
    others(&vm::lock(), leader).map(map).collect()
}

/// Whether thread `tid` has left the runtime: it blocks all signals until the kernel gives it the
/// program's registers. (The program may block them, too.) One that `makes_call` was interrupted in
/// a system call, and is to be found there again, not a step before it.
fn goes_on_natively(tid: i32, makes_call: bool) -> bool {
    match proc::waits_before(tid) {
        Some(pc) => !vm::is_runtime(pc),
        None if makes_call => has_ended(tid),
        None => !ask::blocks_all(&format!("/proc/self/task/{tid}")),
    }
}
