//! A folder of units.

use crate::fault::Fault;
use crate::trusted::{judged, open_file, tag};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, OnceCell};
use ppin_os::file::{self, File, Stat};
use ppin_os::{Errno, Result as SysResult, c, dir, time};
use ppin_persist::paths::{FILE_MODE, TEMPORARY, UnitName, is_left_behind};
use ppin_persist::trust::Kind;

/// A folder of units. It is opened when it is listed or written to; files are opened relative to it then, so
/// that a change of its path does no harm. What is only read from it by name is found by its path: that no other user
/// can change it has been judged, and each file is judged by itself.
#[derive(Debug)]
pub struct Folder {
    /// Set when the folder is open.
    dir: OnceCell<File>,
    path: String,
    user: u32,
    stat: Stat,
    /// Whether the folder has been read to its end.
    listed: Cell<bool>,
}

impl Folder {
    /// The folder at `path`, judged.
    pub(crate) fn find(path: &str, user: u32) -> Result<Self, Fault> {
        let stat = file::stat_of(path)?;
        judged(Kind::Folder, &stat, user)?;
        Ok(Self {
            dir: OnceCell::new(),
            path: path.into(),
            user,
            stat,
            listed: Cell::new(false),
        })
    }

    /// The same, open.
    pub(crate) fn open(path: &str, user: u32) -> Result<Self, Fault> {
        let folder = Self::find(path, user)?;
        folder.dir()?;
        Ok(folder)
    }

    /// The open folder, which is judged once more: it may be another one by now.
    fn dir(&self) -> Result<&File, Fault> {
        if let Some(dir) = self.dir.get() {
            return Ok(dir);
        }
        let flags = c::O_RDONLY | c::O_DIRECTORY | c::O_NOFOLLOW;
        let dir = File::open(&self.path, flags, 0)?;
        judged(Kind::Folder, &dir.stat()?, self.user)?;
        Ok(self.dir.get_or_init(|| dir))
    }

    /// Descriptor of the open folder.
    fn fd(&self) -> SysResult<i32> {
        self.dir().map(File::fd).map_err(|fault| match fault {
            Fault::Missing => Errno::ENOENT,
            Fault::Refused(_) => Errno::EPERM,
            Fault::System(e) => e,
        })
    }

    /// Path of the folder, for messages.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// State of the folder when it was judged.
    #[must_use]
    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Sets the folder's modification time to now.
    pub fn touch(&self) {
        if let Ok(dir) = self.dir() {
            let _ = dir.set_mtime(0, c::UTIME_NOW);
        }
    }

    /// Opens a file for reading, if it may be trusted.
    ///
    /// # Errors
    /// The reason why it is not used.
    pub fn open_file(&self, name: &str) -> Result<(File, Stat), Fault> {
        match self.dir.get() {
            Some(dir) => open_file(dir.fd(), name, self.user),
            None => open_file(c::AT_FDCWD, &format!("{}/{name}", self.path), self.user),
        }
    }

    /// All names in the folder.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let Ok(dir) = self.dir() else {
            return Vec::new();
        };
        if self.listed.replace(true) {
            dir.rewind();
        }
        dir::list(dir).unwrap_or_default()
    }

    /// Names of the units in the folder, in the order in which they are searched.
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

    /// Writes the file `name` with the contents `bytes`, completely or not at all. It is written
    /// without a name first, so that no part of it stays if the process is killed meanwhile.
    ///
    /// # Errors
    /// The kernel's; nothing is left behind.
    pub fn publish(&self, name: &str, bytes: &[u8]) -> SysResult<()> {
        if !file::may_write(bytes.len()) {
            return Err(Errno::EFBIG);
        }
        // (Not every file system supports files without names.)
        let Ok(file) = self.create(".", c::O_TMPFILE) else {
            return self.publish_renamed(name, bytes);
        };
        file.write_all(bytes)?;
        let named = match file::link_at(&file, self.fd()?, name) {
            Err(Errno::EEXIST) => self.replace(name, &file),
            named => named,
        };
        named.or_else(|_| self.publish_renamed(name, bytes))
    }

    /// Puts `file`, which has no name, in the place of the file `name`. The lock on it tells others that the
    /// writer is alive, as long as it has a temporary name.
    fn replace(&self, name: &str, file: &File) -> SysResult<()> {
        let temporary = temporary_name();
        let _ = file.lock();
        file::link_at(file, self.fd()?, &temporary)?;
        self.rename(&temporary, name)
    }

    /// Publishes a file by way of a temporary name, replacing a file of the same name; it is locked as in
    /// [`Folder::replace`].
    fn publish_renamed(&self, name: &str, bytes: &[u8]) -> SysResult<()> {
        let temporary = temporary_name();
        let file = self.create(&temporary, c::O_CREAT | c::O_EXCL | c::O_NOFOLLOW)?;
        let _ = file.lock();
        match file.write_all(bytes) {
            Ok(()) => self.rename(&temporary, name),
            Err(e) => self.remove(&temporary).and(Err(e)),
        }
    }

    /// Gives the file with a temporary name the one that it shall have, or none.
    fn rename(&self, temporary: &str, name: &str) -> SysResult<()> {
        let renamed = file::rename_at(self.fd()?, temporary, name);
        renamed.or_else(|e| self.remove(temporary).and(Err(e)))
    }

    fn create(&self, name: &str, flags: u32) -> SysResult<File> {
        let flags = c::O_WRONLY | flags;
        File::create_at(self.fd()?, &file::c_path(name), flags, FILE_MODE)
    }

    /// Removes temporary files that killed writers have left in the folder.
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

    /// Length of a file; 0 if it cannot be read.
    #[must_use]
    pub fn size_of(&self, name: &str) -> u64 {
        let stat = self.fd().and_then(|dir| file::stat_at(dir, name));
        stat.map_or(0, |stat| stat.size)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove(&self, name: &str) -> SysResult<()> {
        file::unlink_at(self.fd()?, name)
    }
}

/// A name that no other writer uses.
fn temporary_name() -> String {
    format!("{TEMPORARY}{:016x}", tag())
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    /// A folder that may be trusted, and its path.
    fn folder() -> (tempfile::TempDir, Folder) {
        let disk = tempfile::tempdir().expect("a temporary folder");
        let own = fs::Permissions::from_mode(0o700);
        fs::set_permissions(disk.path(), own).expect("it is ours");
        let path = disk.path().to_str().expect("plain text");
        let folder = Folder::find(path, ppin_os::proc::effective_user()).expect("trusted");
        (disk, folder)
    }

    /// Names in `folder`, but for itself and the one above.
    fn names(folder: &Folder) -> Vec<String> {
        let mut names = folder.names();
        names.retain(|name| ![".", ".."].contains(&name.as_str()));
        names
    }

    #[test]
    fn what_is_published_takes_the_place_of_what_was_there() {
        let (disk, folder) = folder();
        for contents in ["first", "second, and longer", "third"] {
            folder
                .publish("plan", contents.as_bytes())
                .expect("it can be written");
            let (file, stat) = folder.open_file("plan").expect("it is there");
            let read = file.read_all(stat.size as usize).expect("it can be read");
            assert_eq!(read, contents.as_bytes());
        }
        assert_eq!(names(&folder), ["plan"], "nothing else is left");
        let mode = fs::metadata(disk.path().join("plan")).expect("ours").mode();
        assert_eq!(mode & 0o777, FILE_MODE);
    }

    #[test]
    fn files_are_found_by_name_before_the_folder_is_open_and_after() {
        let (disk, folder) = folder();
        fs::write(disk.path().join("unit"), "code").expect("it is ours");
        let allow = |mode| {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(disk.path().join("unit"), mode).expect("ours");
        };
        for _ in 0..2 {
            allow(0o600);
            assert!(folder.open_file("unit").is_ok());
            assert!(matches!(folder.open_file("none"), Err(Fault::Missing)));
            allow(0o666);
            assert!(matches!(folder.open_file("unit"), Err(Fault::Refused(_))));
            // (This opens it.)
            assert_eq!(names(&folder), ["unit"]);
        }
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused_though_it_was_judged_before() {
        let (disk, folder) = folder();
        fs::set_permissions(disk.path(), fs::Permissions::from_mode(0o777)).expect("ours");
        assert!(folder.names().is_empty());
        assert_eq!(folder.publish("plan", b"x"), Err(Errno::EPERM));
        assert!(fs::read_dir(disk.path()).expect("ours").next().is_none());
    }
}
