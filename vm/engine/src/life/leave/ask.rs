//! Asking another process that runs under ppin to be left to itself.
//!
//! The request is a `SIGTRAP`, which the runtime never blocks, with a code that no
//! program uses. It must not reach a process that would die of it: the runtime shows in
//! the kernel's list of mappings, and so does the mark of a process that was left.

use alloc::format;
use ppin_abi::room;
use ppin_os::file::File;
use ppin_os::frame::SigInfo;
use ppin_os::maps::{self, MapEntry};
use ppin_os::{c, dir, mem, proc, raw, time};
use ppin_process::vm;

/// `si_code` of a request; negative codes may be sent to others (rt_sigqueueinfo(2)).
const REQUEST: i32 = -0x7070;
/// A page without permissions, between the runtime and the private memory
/// (`ppin_abi::room`): the process was left.
const MARK: u64 = room::PRIVATE - mem::PAGE;
/// Looks at a process that was asked, a millisecond apart.
const PATIENCE: u32 = 2000;
/// The same for one that has set the mark.
const LAST_STEPS: u32 = 100;

/// Whether this asks us to leave.
#[must_use]
pub(crate) fn is_request(info: &SigInfo) -> bool {
    info.signo as u32 == c::SIGTRAP && info.code == REQUEST
}

/// What asks a thread to leave.
pub(super) fn request() -> SigInfo {
    SigInfo::fault(c::SIGTRAP, REQUEST, proc::pid() as u64)
}

/// Says to others that this process was left.
pub(super) fn mark() {
    let _ = mem::map_anon_at(MARK, mem::PAGE, mem::NONE);
}

/// Asks process `pid`, which the caller is about to trace, and waits until it was left;
/// in vain if it does not run under ppin, cannot be left, or is stopped.
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
    wait_while(PATIENCE, || runs_under_ppin(pid));
    wait_while(LAST_STEPS, || a_thread_blocks_all(pid));
    // Into the system call again that the request has interrupted.
    wait_while(LAST_STEPS, || {
        before == SLEEPS && proc::state(pid) == Some(RUNS)
    });
}

fn wait_while(looks: u32, going_on: impl Fn() -> bool) {
    for _ in 0..looks {
        if !going_on() {
            break;
        }
        time::sleep_a_millisecond();
    }
}

/// Whether the process (or thread) that `/proc` shows there blocks all signals: with the program's own mask it gets the program's
/// registers back, behind the mark. (The program may do so itself, too.)
pub(super) fn blocks_all(process: &str) -> bool {
    const ALL: &[u8] = b"\nSigBlk:\tfffffffffffbfeff\n";
    let status = File::open(&format!("{process}/status"), c::O_RDONLY, 0)
        .and_then(|file| file.read_all(4096))
        .unwrap_or_default();
    status.windows(ALL.len()).any(|window| window == ALL)
}

/// Whether some thread of the process does.
fn a_thread_blocks_all(pid: i32) -> bool {
    let tasks = format!("/proc/{pid}/task");
    let threads = dir::list_dir(&tasks).unwrap_or_default();
    threads
        .iter()
        .any(|tid| blocks_all(&format!("{tasks}/{tid}")))
}

/// Whether its code is in a cache, and it was not left.
fn runs_under_ppin(pid: i32) -> bool {
    let ident = vm::lock().config.ppin_ident[1];
    let maps = maps::of(&format!("/proc/{pid}/maps")).unwrap_or_default();
    let ours = |m: &MapEntry| m.executable && m.inode == ident && m.start < MARK;
    maps.iter().any(ours) && !maps.iter().any(|m| (m.start..m.end).contains(&MARK))
}

const RUNS: u8 = b'R';
const SLEEPS: u8 = b'S';
