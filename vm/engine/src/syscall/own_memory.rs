//! Writes of a process to its own memory that pass by page protection: through a
//! descriptor of `/proc/PID/mem`, and `process_vm_writev`.
//!
//! Writes come here once a
//! descriptor of that kind has been opened; which one it is, the kernel is asked.

use super::outcome::{Outcome, pass_interruptible};
use alloc::format;
use alloc::vec::Vec;
use ppin_os::{c, descriptor, peek, proc};
use ppin_process::gate::table;
use ppin_process::thread::Thread;
use ppin_process::vm::{self, shares_memory};
use ppin_translate::changes;

/// Start and end of memory.
type Range = (u64, u64);

/// The app has opened `fd` for writing.
pub(super) fn opened(fd: i32) {
    if !table::watches_writes() && is_own_memory(fd) {
        table::watch_writes();
    }
}

/// A write, to any descriptor.
pub(super) fn write(thread: &Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    let fd = args[0] as i32;
    let start = is_own_memory(fd).then(|| position(nr, fd, args));
    let outcome = pass_interruptible(thread, nr, args);
    if let (Some(start), Outcome::Done(len @ 1..)) = (start, &outcome) {
        let end = start.saturating_add(*len as u64);
        changes::written(&mut vm::lock(), start, end);
    }
    outcome
}

/// Whether `fd` is this process's `mem`, or one of its threads'.
fn is_own_memory(fd: i32) -> bool {
    if vm::lock().filtered {
        return false;
    }
    let path = descriptor::path_of(fd);
    let pid = proc::pid();
    path.ends_with("/mem")
        && (path.ends_with(&format!("/{pid}/mem")) || path.contains(&format!("/{pid}/task/")))
}

/// Where the write begins.
fn position(nr: u32, fd: i32, args: &[usize; 6]) -> u64 {
    const HERE: usize = usize::MAX;
    let given = match nr {
        c::__NR_pwrite64 | c::__NR_pwritev | c::__NR_pwritev2 => args[3],
        _ => HERE,
    };
    if given != HERE || nr == c::__NR_pwrite64 || nr == c::__NR_pwritev {
        return given as u64;
    }
    descriptor::position(fd).unwrap_or(0)
}

/// process_vm_writev(2). It minds the protection, which we may have taken away.
pub(super) fn process_vm_writev(thread: &Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    if !shares_memory(args[0] as i32) {
        return pass_interruptible(thread, nr, args);
    }
    let ranges = remote(args);
    let forget_written = || {
        let mut vm = vm::lock();
        for (start, end) in &ranges {
            changes::written(&mut vm, *start, *end);
        }
    };
    forget_written();
    let outcome = pass_interruptible(thread, nr, args);
    // Another thread may have translated the old bytes meanwhile.
    forget_written();
    outcome
}

/// The memory that the call is to write to.
fn remote(args: &[usize; 6]) -> Vec<Range> {
    /// `UIO_MAXIOV`.
    const MOST: usize = 1024;
    const SIZE: u64 = 16;
    (0..args[4].min(MOST) as u64)
        .map_while(|n| peek::read_value::<[u64; 2]>((args[3] as u64).wrapping_add(SIZE * n)))
        .map(|[start, len]| (start, start.saturating_add(len)))
        .collect()
}
