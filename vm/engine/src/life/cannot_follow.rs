//! Reasons why ppin cannot follow the execution of any program. The program then runs natively, and
//! the statistics show the reason.

use core::sync::atomic::{AtomicBool, Ordering};
use ppin_abi::boot::flag;
use ppin_abi::room;
use ppin_os::budget::LIMITS;
use ppin_os::file::{self, File};
use ppin_os::{c, call};
use ppin_process::vm;

/// This process has called unshare(2) or setns(2), so its children may get other namespaces.
static UNSHARED: AtomicBool = AtomicBool::new(false);

/// Notes a call that may have made or joined a namespace.
pub(crate) fn note_namespaces() {
    UNSHARED.store(true, Ordering::Relaxed);
}

/// The reason why no program can be followed, if there is one.
#[must_use]
pub(crate) fn reason() -> Option<&'static str> {
    if !crate::life::inherited_filters::possible() {
        return Some("its filter of system calls may not let ppin in");
    }
    if LIMITS
        .into_iter()
        .any(|it| ppin_os::limits::allowed(it) < room::LEAST)
    {
        return Some("its memory limits leave no room for ppin");
    }
    if tells_reasons() && is_traced() {
        return Some("a debugger traces it");
    }
    if !carrier_is_reachable() {
        return Some("ppin's own executable is out of its sight");
    }
    pid_namespace_pending()
        .then_some("its helper would be the first process of a new PID namespace")
}

/// Whether anybody learns of the reason. If not, that the helper cannot trace this process is found out
/// when it tries: to ask is slow, since the kernel writes down all that it knows of the process.
fn tells_reasons() -> bool {
    vm::lock().config().flags & flag::STATS != 0
}

/// Whether this process has a tracer (ptrace(2)). A process can have only one, and a debugger wants
/// to see the program's own code.
#[must_use]
pub(crate) fn is_traced() -> bool {
    const KEY: &[u8] = b"\nTracerPid:\t";
    let status = File::open("/proc/thread-self/status", c::O_RDONLY, 0)
        .and_then(|file| file.read_all(4096))
        .unwrap_or_default();
    let value = status
        .windows(KEY.len())
        .position(|window| window == KEY)
        .and_then(|at| status.get(at + KEY.len()));
    value.is_some_and(|digit| *digit != b'0')
}

/// Whether the file that holds the runtime is still at its path; after a chroot it is not.
fn carrier_is_reachable() -> bool {
    let (path, ident) = {
        let vm = vm::lock();
        (vm.config().ppin.clone(), vm.config().ppin_ident)
    };
    let stat = file::stat_of(&path);
    stat.is_ok_and(|stat| stat.ino == ident[1])
}

/// Whether new children get a PID namespace of their own, after `unshare(CLONE_NEWPID)`. The first
/// of them is its init, and when it ends, all processes in the namespace end (pid_namespaces(7)).
#[must_use]
pub(crate) fn pid_namespace_pending() -> bool {
    if !UNSHARED.load(Ordering::Relaxed) {
        return false;
    }
    let own = link("/proc/thread-self/ns/pid");
    let children = link("/proc/thread-self/ns/pid_for_children");
    own.is_some() && own != children
}

fn link(path: &str) -> Option<[u8; 64]> {
    let path = file::c_path(path);
    let mut target = [0; 64];
    let args = [
        path.as_ptr() as usize,
        target.as_mut_ptr() as usize,
        target.len(),
        0,
        0,
        0,
    ];
    // SAFETY: a terminated path and a buffer of ours.
    unsafe { call(c::__NR_readlink, args) }
        .is_ok()
        .then_some(target)
}
