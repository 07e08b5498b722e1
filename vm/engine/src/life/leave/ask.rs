//! Asks another process under ppin to be left to itself, so that it can be traced.
//!
//! `ppin_abi::leave` says how. The request must not be sent to a process that would die of it. So the sender looks
//! into the kernel's list of mappings: it shows the runtime, and also the mark of a process that was left.

use alloc::format;
use ppin_abi::leave::{FOR_TRACER, FOR_USER, MARK};
use ppin_os::file::File;
use ppin_os::frame::SigInfo;
use ppin_os::maps::{self, MapEntry};
use ppin_os::{c, dir, mem, proc, raw, time};
use ppin_process::thread::Thread;
use ppin_process::vm;

/// Reason for the statistics: the process was traced.
pub(crate) const TRACED: &str = "it was traced";
/// How often an asked process is examined, a millisecond apart.
const MOST_LOOKS: u32 = 2000;
/// How often a process that has set the mark is examined.
const LAST_STEPS: u32 = 100;

/// Whether `info` is a request to leave this process.
#[must_use]
pub(crate) fn is_request(info: &SigInfo) -> bool {
    info.signo as u32 == c::SIGTRAP && matches!(info.code, FOR_TRACER | FOR_USER)
}

/// Whether the signal that waits for `thread` is such a request.
#[must_use]
pub(crate) fn is_all_that_waits(thread: &Thread) -> bool {
    thread.pending != 0 && is_request(&thread.signals.waiting)
}

/// What the request `info` is for, for the statistics.
pub(super) const fn purpose(info: &SigInfo) -> &'static str {
    match info.code {
        FOR_USER => "it was detached",
        _ => TRACED,
    }
}

/// Signal information of a request.
pub(super) fn request() -> SigInfo {
    SigInfo::fault(c::SIGTRAP, FOR_TRACER, proc::pid() as u64)
}

/// Sets the mark, by which other processes see that this one was left.
pub(super) fn mark() {
    let _ = mem::map_anon_at(MARK, mem::PAGE, mem::NONE);
}

/// Asks process `pid`, which the caller is about to trace, to be left, and waits for that. Gives up
/// if the process does not run under ppin, cannot be left, or is stopped.
pub(crate) fn ask(pid: i32) {
    if pid == proc::pid() || !runs_under_ppin(pid) {
        return;
    }
    let Some(before @ (RUNS | SLEEPS)) = proc::state(pid) else {
        return;
    };
    let info = request();
    let args = [
        pid as usize,
        c::SIGTRAP as usize,
        core::ptr::from_ref(&info) as usize,
        0,
        0,
        0,
    ];
    // SAFETY: a siginfo of ours.
    if unsafe { raw(c::__NR_rt_sigqueueinfo, args) } != 0 {
        return;
    }
    wait_while(MOST_LOOKS, || runs_under_ppin(pid));
    wait_while(LAST_STEPS, || a_thread_blocks_all(pid));
    // (A process that slept goes back into the system call that the request has interrupted.)
    wait_while(LAST_STEPS, || {
        before == SLEEPS && proc::state(pid) == Some(RUNS)
    });
}

fn wait_while(looks: u32, going_on: impl Fn() -> bool) {
    time::tried(looks, || (!going_on()).then_some(()));
}

/// Whether the process or thread at the path `process` in `/proc` blocks all signals. A thread that
/// leaves does so until the kernel gives it the program's registers and mask, after the mark was
/// set. (The program may block all signals itself, too.)
pub(super) fn blocks_all(process: &str) -> bool {
    const ALL: &[u8] = b"\nSigBlk:\tfffffffffffbfeff\n";
    let status = File::open(&format!("{process}/status"), c::O_RDONLY, 0)
        .and_then(|file| file.read_all(4096))
        .unwrap_or_default();
    status.windows(ALL.len()).any(|window| window == ALL)
}

/// Whether any thread of the process blocks all signals.
fn a_thread_blocks_all(pid: i32) -> bool {
    let tasks = format!("/proc/{pid}/task");
    let threads = dir::list_dir(&tasks).unwrap_or_default();
    threads
        .iter()
        .any(|tid| blocks_all(&format!("{tasks}/{tid}")))
}

/// Whether the process runs under ppin and was not left.
fn runs_under_ppin(pid: i32) -> bool {
    let ident = vm::lock().config().ppin_ident[1];
    let maps = maps::of(&format!("/proc/{pid}/maps")).unwrap_or_default();
    let ours = |m: &MapEntry| m.executable && m.inode == ident && m.start < MARK;
    maps.iter().any(ours) && !maps.iter().any(|m| (m.start..m.end).contains(&MARK))
}

const RUNS: u8 = b'R';
const SLEEPS: u8 = b'S';
