//! Killing and stopping processes that share this memory without being threads of this one
//! (clone(2) with `CLONE_VM`). No handler can postpone these signals, and a process that holds a
//! lock of the VM when it is hit would keep it. So the sender holds the locks while it sends such a
//! signal, until the signal has taken effect.

use super::outcome::{Outcome, pass, through_gate};
use super::sent_fault;
use alloc::format;
use alloc::vec::Vec;
use ppin_os::file::File;
use ppin_os::{c, heap, proc, time};
use ppin_process::signal::is_fault;
use ppin_process::thread::Thread;
use ppin_process::vm::{self, Locked, Vm};

/// How often a process that was signalled is examined, a millisecond apart.
const MOST_LOOKS: u32 = 1000;

/// Handles the call.
pub(super) fn handle(thread: &mut Thread, resume: u64, nr: u32, args: &[usize; 6]) -> Outcome {
    let sent = match nr {
        c::__NR_tgkill | c::__NR_rt_tgsigqueueinfo => args[2],
        _ => args[1],
    };
    let sent = match sent as u32 {
        c::SIGKILL | c::SIGSTOP => kill(thread, nr, args),
        signal if is_fault(signal) => sent_fault::send(thread, signal, nr, args),
        _ => None,
    };
    sent.unwrap_or_else(|| through_gate(thread, resume, nr, args))
}

/// Kills or stops a process, if there are some in this memory that it hits.
fn kill(thread: &Thread, nr: u32, args: &[usize; 6]) -> Option<Outcome> {
    let vm = vm::lock();
    let hit = hit(&vm, thread, nr, args);
    (!hit.is_empty()).then(|| Outcome::Done(with_locks(&vm, nr, args, &hit)))
}

/// Makes the call, which ends or stops the processes `hit`, while none of them holds a lock of the
/// VM.
pub(super) fn with_locks(_: &Locked, nr: u32, args: &[usize; 6], hit: &[i32]) -> isize {
    heap::with_heap_locked(|_| {
        let result = pass(nr, args);
        if result == 0 {
            hit.iter().for_each(|pid| wait_for(*pid));
        }
        result
    })
}

/// The processes in this memory that the call is directed at.
fn hit(vm: &Vm, thread: &Thread, nr: u32, args: &[usize; 6]) -> Vec<i32> {
    let target = match nr {
        c::__NR_pidfd_send_signal => pid_of(args[0] as i32),
        _ => args[0] as i32,
    };
    let all = vm.threads().all();
    let processes = all.filter(|other| other.borrowed_memory && other.tid != thread.tid);
    let pids = processes.map(|other| other.tid).filter(|pid| *pid != 0);
    // (A target of 0 or below is a group, or every process.)
    pids.filter(|pid| target <= 0 || *pid == target).collect()
}

/// The id of the process that a descriptor refers to (pidfd_open(2)); 0 if it is unknown.
pub(super) fn pid_of(fd: i32) -> i32 {
    const KEY: &str = "\nPid:\t";
    let info = File::open(&format!("/proc/self/fdinfo/{fd}"), c::O_RDONLY, 0)
        .and_then(|file| file.read_all(4096))
        .unwrap_or_default();
    let text = core::str::from_utf8(&info).unwrap_or_default();
    let value = text.split(KEY).nth(1).and_then(|rest| rest.lines().next());
    value.and_then(|pid| pid.parse().ok()).unwrap_or(0)
}

/// Waits until the process is dead or stopped. (Must not use the heap, whose lock is held.)
fn wait_for(pid: i32) {
    let goes_on = || matches!(proc::state(pid), Some(b'R' | b'S' | b'D'));
    time::tried(MOST_LOOKS, || (!goes_on()).then_some(()));
}
