//! A folder of units that is open.

use crate::fault::Fault;
use crate::trusted::{judged, open_file, tag};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;
use ppin_os::file::{self, File, Stat};
use ppin_os::{Errno, Result as SysResult, c, dir, time};
use ppin_persist::paths::{FILE_MODE, TEMPORARY, UnitName, is_left_behind};
use ppin_persist::trust::Kind;

/// See the module. Files are reached from it, whatever happens to its path.
#[derive(Debug)]
pub struct Folder {
    dir: File,
    /// For words.
    path: String,
    user: u32,
    stat: Stat,
    /// It has been read to its end.
    listed: Cell<bool>,
}

impl Folder {
    pub(crate) fn open(path: &str, user: u32) -> Result<Self, Fault> {
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
            listed: Cell::new(false),
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

    /// Sets its modification time to now.
    pub fn touch(&self) {
        let _ = self.dir.set_mtime(0, c::UTIME_NOW);
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
        if self.listed.replace(true) {
            self.dir.rewind();
        }
        dir::list(&self.dir).unwrap_or_default()
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

    /// Makes the file `name` of `bytes`, whole or not at all. It is written without a name, so
    /// that nothing is left of it if the process is killed meanwhile.
    ///
    /// # Errors
    /// The kernel's; nothing is left behind.
    pub fn publish(&self, name: &str, bytes: &[u8]) -> SysResult<()> {
        if !file::may_write(bytes.len()) {
            return Err(Errno::EFBIG);
        }
        // Not every file system knows files without names.
        let Ok(file) = self.create(".", c::O_TMPFILE) else {
            return self.publish_renamed(name, bytes);
        };
        file.write_all(bytes)?;
        let named = file::link_at(&file, self.dir.fd(), name);
        named.or_else(|_| self.publish_renamed(name, bytes))
    }

    /// The same by way of a temporary name, in place of what has the name. The lock tells
    /// others that the writer lives.
    fn publish_renamed(&self, name: &str, bytes: &[u8]) -> SysResult<()> {
        let temporary = format!("{TEMPORARY}{:016x}", tag());
        let file = self.create(&temporary, c::O_CREAT | c::O_EXCL | c::O_NOFOLLOW)?;
        let _ = file.lock();
        let written = file
            .write_all(bytes)
            .and_then(|()| file::rename_at(self.dir.fd(), &temporary, name));
        if written.is_err() {
            let _ = self.remove(&temporary);
        }
        written
    }

    fn create(&self, name: &str, flags: u32) -> SysResult<File> {
        let flags = c::O_WRONLY | flags;
        File::create_at(self.dir.fd(), &file::c_path(name), flags, FILE_MODE)
    }

    /// Removes what writers that are dead have left here.
    pub fn sweep(&self) {
        let (now, _) = time::real();
        let mut names = self.names();
        names.retain(|name| name.starts_with(TEMPORARY));
        for name in names.iter().filter(|name| self.is_left(name, now)) {
            let _ = self.remove(name);
        }
    }

    fn is_left(&self, name: &str, now: i64) -> bool {
        self.open_file(name).is_ok_and(|(file, stat)| {
            let alive = file.lock().is_err();
            is_left_behind(stat.ctime.0, now, alive)
        })
    }

    /// Length of a file; of what cannot be used, 0.
    #[must_use]
    pub fn size_of(&self, name: &str) -> u64 {
        file::stat_at(self.dir.fd(), name).map_or(0, |stat| stat.size)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove(&self, name: &str) -> SysResult<()> {
        file::unlink_at(self.dir.fd(), name)
    }
}
