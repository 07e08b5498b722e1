//! Programs and processes whose rights stand against instrumentation.

use super::words::{not_executable, reason};
use crate::failure::Failure;
use nix::unistd::{Gid, Uid, getegid, geteuid, getgid, getuid};
use std::ffi::CString;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const S_ISUID: u32 = 0o4000;
/// Without the group's execute bit, the set-group-id bit means mandatory locking.
const S_ISGID: u32 = 0o2010;

/// Refuses what would gain privileges: the kernel gives none to a traced process,
/// and the program would run without them.
pub fn check(path: &Path) -> Result<(), Failure> {
    let file = path
        .metadata()
        .map_err(|error| not_executable(path, reason(&error)))?;
    if is_roots_own(&file) || geteuid().is_root() && ppin_inject::sys::this_may_become_anybody() {
        return Ok(());
    }
    let (user, group) = (file.uid(), file.gid());
    let why = if file.mode() & S_ISUID != 0 && [getuid(), geteuid()] != [Uid::from(user); 2] {
        "it is setuid and would lose its privileges under ppin"
    } else if file.mode() & S_ISGID == S_ISGID && [getgid(), getegid()] != [Gid::from(group); 2] {
        "it is setgid and would lose its privileges under ppin"
    } else if has_capabilities(path) {
        "it has file capabilities and would lose them under ppin"
    } else {
        return Ok(());
    };
    Err(not_executable(path, why))
}

/// Root gains nothing from its own programs, and its helper may trace what gains a group; with
/// all its capabilities, nothing from any program.
fn is_roots_own(file: &Metadata) -> bool {
    geteuid().is_root() && file.uid() == 0
}

fn has_capabilities(path: &Path) -> bool {
    CString::new(path.as_os_str().as_bytes())
        .is_ok_and(|path| ppin_inject::sys::has_capabilities(&path))
}

/// Whether children of this process will live in another PID namespace: the helper
/// would become its init. As long as such a namespace has no init, its link is there
/// and leads nowhere.
pub fn pid_namespace_pending() -> bool {
    const CHILDREN: &str = "/proc/self/ns/pid_for_children";
    let own = fs::read_link("/proc/self/ns/pid");
    match (own, fs::read_link(CHILDREN)) {
        (Ok(own), Ok(childrens)) => own != childrens,
        (Ok(_), Err(_)) => fs::symlink_metadata(CHILDREN).is_ok(),
        (Err(_), _) => false,
    }
}
