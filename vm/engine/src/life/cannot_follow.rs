//! Why a program that is about to be executed cannot be followed, whatever it is: it
//! runs natively then, and the statistics say so.

use core::sync::atomic::{AtomicBool, Ordering};
use ppin_abi::room;
use ppin_os::budget::LIMITS;
use ppin_os::file::{self, File};
use ppin_os::{c, call};
use ppin_process::vm;

/// This process has asked for namespaces, which may await its children.
static UNSHARED: AtomicBool = AtomicBool::new(false);

/// A call that may have made or chosen a namespace was made.
pub(crate) fn note_namespaces() {
    UNSHARED.store(true, Ordering::Relaxed);
}

/// The reason, if there is one.
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
    if is_traced() {
        return Some("a debugger traces it");
    }
    if !carrier_in_sight() {
        return Some("ppin's own executable is out of its sight");
    }
    pid_namespace_pending()
        .then_some("its helper would be the first process of a new PID namespace")
}

/// Whether this process has a tracer (ptrace(2)): there can be only one, and a debugger
/// wants to see the program's own code.
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

/// Whether the file that holds the runtime is where it was: not so behind a chroot.
fn carrier_in_sight() -> bool {
    let (path, ident) = {
        let vm = vm::lock();
        (vm.config.ppin.clone(), vm.config.ppin_ident)
    };
    let stat = File::open(&path, c::O_RDONLY, 0).and_then(|file| file.stat());
    stat.is_ok_and(|stat| stat.ino == ident[1])
}

/// After `unshare(CLONE_NEWPID)` children live in another namespace than their parent:
/// the first of them is its init, and its end is that of all (pid_namespaces(7)).
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
