//! What ppin cannot go along with.

#![allow(unsafe_code)] // two system calls without a safe face

use crate::mappings::{self, reason};
use crate::status::Status;
use crate::stopped::{Held, Stopped};
use crate::{Failure, Result, failure};
use nix::libc::{RLIMIT_AS, RLIMIT_DATA, SYS_kcmp, pid_t, prlimit, rlimit, syscall};
use ppin_abi::room::{LEAST, allowed};
use std::fs;

/// `cs` of 64-bit code.
const CS_64: u64 = 0x33;
/// The processor's trap flag.
const TRAP_FLAG: u64 = 0x100;

/// What can be told without stopping process `pid`.
pub fn before(pid: i32) -> Result<()> {
    if pid == std::process::id() as i32 {
        return failure(format!("process {pid} is this one"));
    }
    let status = Status::of(pid, None);
    let status = status.map_err(|error| Failure(format!("process {pid}: {}", reason(&error))))?;
    if let Some(why) = refused(&status) {
        return failure(format!("process {pid} {why}"));
    }
    let all = mappings::of(pid);
    let all = all.map_err(|error| Failure(format!("process {pid}: {}", reason(&error))))?;
    match all.is_empty() {
        true => failure(format!(
            "process {pid} has no memory: it has ended, or is the kernel's"
        )),
        false if mappings::run_under_ppin(&all, None) => {
            failure(format!("process {pid} runs under ppin"))
        }
        false => Ok(()),
    }
}

/// Why a process or thread with this status is not attached to, behind its name.
fn refused(status: &Status) -> Option<String> {
    let tracer = status.number("TracerPid", 10);
    match status.state() {
        "T" => return Some("is stopped: let it go on first (kill -CONT)".into()),
        "Z" | "X" => return Some("has ended".into()),
        _ => {}
    }
    if tracer != 0 {
        return Some(format!("is traced by process {tracer} already"));
    }
    if status.number("Seccomp", 10) != 0 {
        return Some("filters its system calls (seccomp)".into());
    }
    let mut features = status.words("x86_Thread_features");
    let shadow = features.any(|feature| feature == "shstk");
    shadow.then(|| "has a shadow stack".into())
}

/// What can be told when all threads are stopped.
pub fn when_stopped(stopped: &Stopped) -> Result<()> {
    let pid = stopped.pid.as_raw();
    for held in &stopped.threads {
        if let Some(why) = obstacle(pid, held) {
            return failure(format!("thread {} of process {pid} {why}", held.task.0));
        }
    }
    if let Some(other) = shares_memory(stopped) {
        return failure(format!(
            "process {pid} shares its memory with process {other}"
        ));
    }
    has_room(pid)
}

fn obstacle(pid: i32, held: &Held) -> Option<String> {
    if held.regs.cs != CS_64 {
        return Some("runs 32-bit code".into());
    }
    if held.regs.eflags & TRAP_FLAG != 0 {
        return Some("steps itself".into());
    }
    if held.task.dispatches_its_calls() {
        return Some("has its system calls reported to itself (Syscall User Dispatch)".into());
    }
    let status = Status::of(pid, Some(held.task.0.as_raw())).ok()?;
    let filters = status.number("Seccomp", 10) != 0;
    filters.then(|| "filters its system calls (seccomp)".into())
}

/// A process that uses the same memory and is no thread of this one: its parent, or a child.
fn shares_memory(stopped: &Stopped) -> Option<i32> {
    let pid = stopped.pid.as_raw();
    let parent = Status::of(pid, None).ok()?.number("PPid", 10) as i32;
    let children = stopped.threads.iter().flat_map(|held| {
        let list = fs::read_to_string(format!("/proc/{pid}/task/{}/children", held.task.0));
        let list = list.unwrap_or_default();
        let numbers = list.split_whitespace().filter_map(|word| word.parse().ok());
        numbers.collect::<Vec<i32>>()
    });
    children
        .chain([parent])
        .find(|other| *other > 0 && same_memory(pid, *other))
}

fn same_memory(one: pid_t, other: pid_t) -> bool {
    const KCMP_VM: i32 = 1;
    // SAFETY: kcmp(2) compares; its arguments are numbers.
    unsafe { syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0) == 0 }
}

/// Whether limits of memory leave enough.
fn has_room(pid: i32) -> Result<()> {
    let Ok(status) = Status::of(pid, None) else {
        return Ok(());
    };
    for (what, limit, used) in [
        ("of memory (ulimit -v)", RLIMIT_AS, "VmSize"),
        ("of data (ulimit -d)", RLIMIT_DATA, "VmData"),
    ] {
        let mut found = rlimit {
            rlim_cur: u64::MAX,
            rlim_max: u64::MAX,
        };
        // SAFETY: only asks; the kernel writes one `rlimit`.
        unsafe { prlimit(pid, limit, std::ptr::null(), &raw mut found) };
        let may = allowed(limit == RLIMIT_DATA, found.rlim_cur, found.rlim_max);
        let has = status.number(used, 10) << 10;
        if may.saturating_sub(has) < LEAST {
            return failure(format!(
                "the limit {what} of process {pid} leaves ppin less than {} MB",
                LEAST >> 20
            ));
        }
    }
    Ok(())
}
