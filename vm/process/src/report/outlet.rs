//! Destinations of the report, the statistics and the log, and the fallback if they cannot be
//! written.
//!
//! The launcher has checked before the program began that the files can be written. No descriptor
//! stays open in the program, so the files are opened again when output is due. Output that cannot
//! be written then (the disk is full, the folder is gone) goes to standard error, after a line with
//! the reason. Neither way changes how the program ends: no signal for a closed pipe or for a file
//! that is too large reaches it, and opening a FIFO does not wait for its reader.

use super::kept::{self, APPENDING};
use super::stderr;
use crate::signal::bit;
use alloc::string::String;
use ppin_os::file::{self, File};
use ppin_os::parts::write_parts;
use ppin_os::{Errno, Result, c, signals};

/// Appends `text` to the file at `path` (`%p` is the pid), or to descriptor 2 if `path` is empty or
/// cannot be written. `what` names the text in a message.
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

/// The name of `path` in messages.
pub fn shown(path: &str) -> String {
    match Inherited::parse(path) {
        Some(inherited) => alloc::format!("descriptor {}", inherited.fd),
        None => kept::path(path),
    }
}

/// Checks that the file at `path` can be written, and creates it if it is missing.
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
    append_parts(path, &[bytes])
}

/// Appends `parts` to `path` in one piece.
///
/// # Errors
/// As [`append`].
pub fn append_parts(path: &str, parts: &[&[u8]]) -> Result<()> {
    if let Some(inherited) = Inherited::parse(path) {
        return without_signals(|| inherited.write(parts));
    }
    let path = kept::path(path);
    match File::open(&path, APPENDING, 0o666) {
        Ok(file) => {
            // (A FIFO has a reader now: from here on, writes may wait for it.)
            file.set_status(c::O_APPEND);
            without_signals(|| write_parts(file.fd(), parts))
        }
        Err(e) => {
            let fd = kept::descriptor(&path).ok_or(e)?;
            without_signals(|| write_parts(fd, parts))
        }
    }
}

/// Writes to descriptor 2, if that is still open for the same file as at start.
pub fn to_stderr(text: &str) {
    let closed = stderr::duplicate();
    let stands = || kept::stderr_stands() || stderr::is_the_first();
    if let Some(fd) = closed.or_else(|| stands().then_some(2)) {
        // An error cannot be reported anywhere else.
        let _ = without_signals(|| file::write_all(fd, text.as_bytes()));
    }
}

/// A descriptor that the launcher has inherited and was told to write to, in the form
/// `fd:NUMBER:DEVICE:INODE`. The program may have replaced its file by another one.
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

    fn write(&self, parts: &[&[u8]]) -> Result<()> {
        if stderr::identity(self.fd) != Some(self.file) {
            return Err(Errno::EBADF);
        }
        write_parts(self.fd, parts)
    }
}

/// Runs `work`, which may write to a pipe without a reader, or beyond a size limit, and discards
/// the signals that the kernel sends for that.
fn without_signals<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    const RAISED: u64 = bit(c::SIGPIPE) | bit(c::SIGXFSZ);
    let before = signals::block(RAISED);
    let waiting = match before & RAISED {
        // They would have arrived.
        0 => 0,
        _ => signals::pending(),
    };
    let result = work();
    if result.is_err() {
        signals::take_pending(RAISED & !waiting);
    }
    // A signal that has arrived meanwhile may have had others held, which must stay held.
    if signals::mask() == before | RAISED {
        signals::unblock(RAISED & !before);
    }
    result
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::os::fd::AsRawFd;

    /// How the launcher names an inherited descriptor.
    fn named(file: &impl AsRawFd) -> (String, u64) {
        let fd = file.as_raw_fd();
        let (dev, ino) = stderr::identity(fd).expect("it is open");
        (alloc::format!("fd:{fd}:{dev}:"), ino)
    }

    #[test]
    fn an_inherited_descriptor_is_written_to_while_it_is_that_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("out");
        let file = std::fs::File::create(&path).expect("a file");
        let (name, ino) = named(&file);
        assert_eq!(append(&alloc::format!("{name}{ino}"), b"text"), Ok(()));
        let other = alloc::format!("{name}{}", ino + 1);
        assert_eq!(append(&other, b"more"), Err(Errno::EBADF));
        assert_eq!(std::fs::read(&path).expect("it is there"), b"text");
        assert_eq!(
            shown(&other),
            alloc::format!("descriptor {}", file.as_raw_fd())
        );
    }

    #[test]
    fn what_only_looks_like_a_descriptor_is_a_path() {
        for path in ["fd:3:1", "fd:x:1:2", "fd:3:1:2x", "/fd:3:1:2"] {
            assert!(Inherited::parse(path).is_none(), "{path}");
            assert_eq!(shown(path), path);
        }
    }

    #[test]
    fn a_pipe_without_a_reader_raises_no_signal() {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let default = signals::KernelSigaction::default();
        // SAFETY: no handler. (The signal would end this process.)
        let _ = unsafe { signals::sigaction(c::SIGPIPE, Some(&default)) };
        let (name, ino) = named(&writer);
        let before = signals::mask();
        assert_eq!(append(&alloc::format!("{name}{ino}"), b"x"), Err(Errno(32)));
        assert_eq!(signals::mask(), before);
    }

    #[test]
    fn the_pid_stands_in_the_name_of_a_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let pattern = alloc::format!("{}/%p.%p", dir.path().display());
        assert_eq!(
            append(&pattern, b"a").and_then(|()| append(&pattern, b"b")),
            Ok(())
        );
        let pid = std::process::id();
        let path = dir.path().join(alloc::format!("{pid}.{pid}"));
        assert_eq!(std::fs::read(path).expect("it is there"), b"ab");
        let missing = alloc::format!("{}/no/file", dir.path().display());
        assert_eq!(
            [append(&missing, b"a"), check(&missing)],
            [Err(Errno::ENOENT); 2]
        );
    }
}
