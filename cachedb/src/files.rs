//! The steps by which the database changes.

#[allow(deprecated, reason = "see `lock`")]
use nix::fcntl::{FlockArg, flock};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use tempfile::NamedTempFile;

/// Operations that change files. Each may fail; whatever fails, the steps before it
/// stand.
pub trait Files: fmt::Debug {
    /// Creates a directory for the user alone; fine if it is there.
    ///
    /// # Errors
    /// The system's.
    fn make_dir(&self, dir: &Path) -> io::Result<()>;

    /// Writes and syncs a file under a temporary name in `dir`; it vanishes when the
    /// result is dropped.
    ///
    /// # Errors
    /// The system's.
    fn write_temporary(&self, dir: &Path, bytes: &[u8]) -> io::Result<NamedTempFile>;

    /// Gives a temporary file its name, in place of what had it before.
    ///
    /// # Errors
    /// The system's.
    fn rename(&self, temporary: NamedTempFile, to: &Path) -> io::Result<()>;

    /// Makes names in `dir` last through a power failure.
    ///
    /// # Errors
    /// The system's.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Removes a file; fine if it is gone.
    ///
    /// # Errors
    /// The system's.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes a directory if it is empty.
    ///
    /// # Errors
    /// The system's, except that it is gone or not empty.
    fn remove_dir(&self, dir: &Path) -> io::Result<()>;
}

/// Publishes a file: afterwards it is there whole, or not at all.
pub(crate) fn publish(files: &dyn Files, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let temporary = files.write_temporary(dir, bytes)?;
    files.rename(temporary, path)?;
    files.sync_dir(dir)
}

/// The file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        crate::trust::create_dir(dir)
    }

    fn write_temporary(&self, dir: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
        let mut file = tempfile::Builder::new()
            .prefix(ppin_persist::paths::TEMPORARY)
            .tempfile_in(dir)?;
        lock(file.as_file());
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        Ok(file)
    }

    fn rename(&self, temporary: NamedTempFile, to: &Path) -> io::Result<()> {
        temporary.persist(to).map(drop).map_err(|error| error.error)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        gone_is_fine(fs::remove_file(path))
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        match gone_is_fine(fs::remove_dir(dir)) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            other => other,
        }
    }
}

/// While it is open, no process takes its file for that of a dead writer.
#[allow(
    deprecated,
    reason = "what replaces it owns the file, which is the temporary's"
)]
fn lock(file: &File) {
    let _ = flock(file.as_raw_fd(), FlockArg::LockExclusiveNonblock);
}

fn gone_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
