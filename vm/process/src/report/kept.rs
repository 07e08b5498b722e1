//! Report files of a process that will not be able to open files when its reports are due: they are
//! opened in advance, if the filter still allows writing to them.

use super::stderr;
use crate::config::Config;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use ppin_abi::boot::flag;
use ppin_os::file::{self, File};
use ppin_os::filter::may;
use ppin_os::lock::Mutex;
use ppin_os::{c, proc};
use ppin_seccomp::Confinement;

/// Flags with which ppin opens its report files.
pub const APPENDING: u32 = c::O_WRONLY | c::O_CREAT | c::O_APPEND | c::O_NONBLOCK | c::O_NOCTTY;

/// Paths of opened report files, and their descriptors, which are high and close-on-exec.
static KEPT: Mutex<Vec<(String, i32)>> = Mutex::new(Vec::new());
/// Descriptor 2 is open for the same file as at start, and the filter forbids to change it.
static STDERR_STANDS: AtomicBool = AtomicBool::new(false);

/// Opens the files that will be needed under the filters `next`.
pub fn keep(config: &Config, next: &Confinement) {
    let stats = config.flags & flag::STATS != 0;
    let output = !config.tools.is_empty();
    for (path, _) in [(&config.output, output), (&config.stats, stats)]
        .into_iter()
        // (A descriptor that the launcher has inherited has no path.)
        .filter(|(path, due)| *due && path.starts_with('/'))
    {
        keep_file(path, next);
    }
    let changes = [
        (c::__NR_close, [2; 6]),
        (c::__NR_dup2, [2; 6]),
        (c::__NR_dup3, [2; 6]),
    ];
    let stands = changes.iter().all(|(nr, args)| !may(next, *nr, args));
    STDERR_STANDS.store(stands && stderr::is_the_first(), Ordering::Relaxed);
}

/// Path of a report: `%p` is the pid.
#[must_use]
pub fn path(pattern: &str) -> String {
    if pattern.contains("%p") {
        pattern.replace("%p", &proc::pid().to_string())
    } else {
        pattern.into()
    }
}

fn keep_file(pattern: &str, next: &Confinement) {
    let flags = (APPENDING | c::O_CLOEXEC) as usize;
    let opens = may(
        next,
        c::__NR_openat,
        &[c::AT_FDCWD as isize as usize, 0, flags, 0o666, 0, 0],
    );
    let writes = may(next, c::__NR_write, &[file::HIGH, 0, 1, 0, 0, 0]);
    let path = path(pattern);
    if opens || !writes || descriptor(&path).is_some() {
        return;
    }
    if let Ok(fd) = File::open(&path, APPENDING, 0o666).and_then(File::raise) {
        KEPT.lock().push((path, fd));
    }
}

/// The descriptor opened in advance for the file at `path`.
#[must_use]
pub fn descriptor(path: &str) -> Option<i32> {
    KEPT.lock()
        .iter()
        .find(|(known, _)| known == path)
        .map(|(_, fd)| *fd)
}

/// Whether descriptor 2 is known to be unchanged.
#[must_use]
pub fn stderr_stands() -> bool {
    STDERR_STANDS.load(Ordering::Relaxed)
}
