//! Where the report, the statistics and the log go, and what is done if they cannot.
//!
//! The launcher has made sure before the program began that files can be written; no
//! descriptor is held open in the program, so they are opened again when something is due.
//! What cannot be written then (the disk is full, the folder is gone) goes to standard error
//! behind a line that says why. Neither way changes how the program ends: no signal for a
//! closed pipe or a file that is too large gets through, and nobody is waited for to open
//! the other end of a FIFO.

use super::kept::{self, APPENDING};
use super::stderr;
use crate::signal::bit;
use alloc::string::String;
use ppin_os::file::{self, File};
use ppin_os::{Errno, Result, c, signals};

/// Writes `text` to `path` (appending, `%p` is the pid), or to descriptor 2 if there is no
/// path, or it cannot be written. `what` it is stands in a message.
pub fn deliver(what: &str, path: &str, text: &str) {
    if path.is_empty() {
        to_stderr(text);
        return;
    }
    if let Err(e) = append(path, text.as_bytes()) {
        let path = shown(path);
        to_stderr(&alloc::format!(
            "ppin: cannot write {what} to {path}: {e}; written here instead\n{text}"
        ));
    }
}

/// The name of `path` for people.
pub fn shown(path: &str) -> String {
    match Inherited::parse(path) {
        Some(inherited) => alloc::format!("descriptor {}", inherited.fd),
        None => kept::path(path),
    }
}

/// Makes sure that the file at `path` can be written, and makes it if it is missing.
///
/// # Errors
/// The kernel's.
pub fn check(path: &str) -> Result<()> {
    match File::open(path, APPENDING, 0o666) {
        // A FIFO: its reader may come later.
        Err(Errno::ENXIO) => Ok(()),
        opened => opened.map(drop),
    }
}

/// Appends `bytes` to `path` (`%p` is the pid).
///
/// # Errors
/// The kernel's; the file may hold a part then.
pub fn append(path: &str, bytes: &[u8]) -> Result<()> {
    if let Some(inherited) = Inherited::parse(path) {
        return without_signals(|| inherited.write(bytes));
    }
    let path = kept::path(path);
    match File::open(&path, APPENDING, 0o666) {
        Ok(file) => {
            // There is a reader, if it is a FIFO: from here on it may take its time.
            file.set_status(c::O_APPEND);
            without_signals(|| file.write_all(bytes))
        }
        Err(e) => {
            let fd = kept::descriptor(&path).ok_or(e)?;
            without_signals(|| file::write_all(fd, bytes))
        }
    }
}

/// Writes to descriptor 2, if that is still the file that it was at start.
pub fn to_stderr(text: &str) {
    let closed = stderr::duplicate();
    let stands = || kept::stderr_stands() || stderr::is_the_first();
    if let Some(fd) = closed.or_else(|| stands().then_some(2)) {
        // There is no better place to complain to.
        let _ = without_signals(|| file::write_all(fd, text.as_bytes()));
    }
}

/// A descriptor that the launcher was given and told to write to, as the text
/// `fd:NUMBER:DEVICE:INODE`. The program may have put another file in its place.
struct Inherited {
    fd: i32,
    file: (u64, u64),
}

impl Inherited {
    fn parse(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix("fd:")?.splitn(3, ':');
        let fd = parts.next()?.parse().ok()?;
        let (dev, ino) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let file = (dev, ino);
        Some(Self { fd, file })
    }

    fn write(&self, bytes: &[u8]) -> Result<()> {
        if stderr::identity(self.fd) != Some(self.file) {
            return Err(Errno::EBADF);
        }
        file::write_all(self.fd, bytes)
    }
}

/// Does work that may write to a pipe without a reader, or beyond a limit of size: the
/// signals that punish it are taken back.
fn without_signals<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    const PUNISHING: u64 = bit(c::SIGPIPE) | bit(c::SIGXFSZ);
    let before = signals::mask();
    let waiting = signals::pending();
    signals::set_mask(before | PUNISHING);
    let result = work();
    if result.is_err() {
        signals::take_pending(PUNISHING & !waiting);
    }
    signals::set_mask(before);
    result
}
