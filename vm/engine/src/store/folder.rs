//! A folder of units that is open.

use super::{Fault, judged, open_file, tag};
use crate::sys::file::{self, File, Stat};
use crate::sys::{Errno, Result as SysResult, c};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ppin_persist::paths::{FILE_MODE, TEMPORARY, UnitName};
use ppin_persist::trust::Kind;

/// See the module. Files are reached from it, whatever happens to its path.
#[derive(Debug)]
pub struct Folder {
    dir: File,
    /// For words.
    path: String,
    user: u32,
    stat: Stat,
}

impl Folder {
    pub(super) fn open(path: &str, user: u32) -> Result<Self, Fault> {
        let flags = c::O_RDONLY | c::O_DIRECTORY | c::O_NOFOLLOW;
        let dir = File::open(path, flags, 0).map_err(|e| match file::stat_of(path) {
            // Of a link, too, the kernel says that it is no directory.
            Ok(stat) => judged(Kind::Folder, &stat, user)
                .err()
                .unwrap_or_else(|| e.into()),
            Err(_) => e.into(),
        })?;
        let stat = dir.stat()?;
        judged(Kind::Folder, &stat, user)?;
        Ok(Self {
            dir,
            path: path.into(),
            user,
            stat,
        })
    }

    /// Its path, for words.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its state when it was opened.
    #[must_use]
    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Opens a file for reading, if it may be trusted.
    ///
    /// # Errors
    /// Why not.
    pub fn open_file(&self, name: &str) -> Result<(File, Stat), Fault> {
        open_file(self.dir.fd(), name, self.user)
    }

    /// All names.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        file::list(&self.dir).unwrap_or_default()
    }

    /// Names of its units, in the order in which they are consulted.
    #[must_use]
    pub fn unit_names(&self) -> Vec<UnitName> {
        let names = self.names();
        let parsed = names
            .iter()
            .filter_map(|name| UnitName::parse(name.as_bytes()));
        let mut units: Vec<_> = parsed.collect();
        units.sort_unstable();
        units
    }

    /// Writes `bytes` to the file `name` by way of a temporary name; `mtime` marks the file
    /// as untouched since.
    ///
    /// # Errors
    /// The kernel's; nothing is left behind.
    pub fn publish(&self, name: &str, bytes: &[u8], mtime: Option<(i64, u32)>) -> SysResult<()> {
        const EFBIG: Errno = Errno(27);
        if !file::may_write(bytes.len()) {
            return Err(EFBIG);
        }
        let temporary = format!("{TEMPORARY}{:016x}", tag());
        let written = self
            .write(&temporary, bytes, mtime)
            .and_then(|()| file::rename_at(self.dir.fd(), &temporary, name));
        if written.is_err() {
            let _ = self.remove(&temporary);
        }
        written
    }

    fn write(&self, name: &str, bytes: &[u8], mtime: Option<(i64, u32)>) -> SysResult<()> {
        let flags = c::O_WRONLY | c::O_CREAT | c::O_EXCL | c::O_NOFOLLOW;
        let file = File::create_at(self.dir.fd(), &file::c_path(name), flags, FILE_MODE)?;
        file.write_all(bytes)?;
        mtime.map_or(Ok(()), |(seconds, nanos)| file.set_mtime(seconds, nanos))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove(&self, name: &str) -> SysResult<()> {
        file::unlink_at(self.dir.fd(), name)
    }
}
