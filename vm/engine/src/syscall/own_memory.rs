//! Writes of a process to its own memory that bypass page protection: through a descriptor of
//! `/proc/PID/mem`, and `process_vm_writev`.
//!
//! Writes enter the VM once such a descriptor has been opened; the kernel is asked for the file of
//! each descriptor.

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

/// Has writes enter the VM from now on, if `fd`, opened for writing, is the memory of this process.
pub(super) fn opened(fd: i32) {
    if !table::watches_writes() && is_own_memory(fd) {
        table::watch_writes();
    }
}

/// Makes a write to any descriptor, and invalidates translations of memory that it changes.
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

/// Whether `fd` is `/proc/PID/mem` of this process, or of one of its threads.
fn is_own_memory(fd: i32) -> bool {
    // (Most files lie elsewhere: the kernel takes ten times as long to tell a path.)
    if vm::lock().is_filtered() || !descriptor::is_of_proc(fd) {
        return false;
    }
    let path = descriptor::path_of(fd);
    let pid = proc::pid();
    path.ends_with("/mem")
        && (path.ends_with(&format!("/{pid}/mem")) || path.contains(&format!("/{pid}/task/")))
}

/// The address at which the write begins.
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

/// Makes process_vm_writev(2). It obeys page protection, so guards are lifted before.
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
    // (Another thread may have translated the old bytes meanwhile.)
    forget_written();
    outcome
}

/// The memory that the call writes to.
fn remote(args: &[usize; 6]) -> Vec<Range> {
    const MOST: usize = c::UIO_MAXIOV as usize;
    const SIZE: u64 = 16;
    (0..args[4].min(MOST) as u64)
        .map_while(|n| peek::read_value::<[u64; 2]>((args[3] as u64).wrapping_add(SIZE * n)))
        .map(|[start, len]| (start, start.saturating_add(len)))
        .collect()
}
