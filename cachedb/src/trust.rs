//! Which files may be used, by their owner: the rule of `ppin_persist::trust`, asked of the file system.

use crate::error::{Context, Error, Refusal};
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::geteuid;
use ppin_persist::paths::DIR_MODE;
use ppin_persist::trust::{Kind, judge};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

fn verdict(kind: Kind, meta: &Metadata, path: &Path) -> Result<(), Error> {
    let user = geteuid().as_raw();
    judge(kind, meta.mode(), meta.uid(), user).map_err(|why| refused(path, why))
}

fn refused(path: &Path, why: Refusal) -> Error {
    Error::Refused {
        path: path.to_owned(),
        why,
    }
}

/// Checks a directory itself, not what leads to it.
pub(crate) fn check_dir(path: &Path) -> Result<(), Error> {
    let meta = fs::symlink_metadata(path).context("look at", path)?;
    verdict(Kind::Folder, &meta, path)
}

/// Checks the directories of `relative` one after the other, from `root` down.
pub(crate) fn check_dirs(root: &Path, relative: &Path) -> Result<(), Error> {
    let mut path = root.to_owned();
    relative.components().try_for_each(|part| {
        path.push(part);
        check_dir(&path)
    })
}

/// Opens a file of the database for reading; its metadata are those of what was
/// opened.
pub(crate) fn open_file(path: &Path) -> Result<(File, Metadata), Error> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(O_NOFOLLOW | O_NONBLOCK)
        .open(path);
    let file = match opened.map_err(|error| (error.raw_os_error(), error)) {
        Err((Some(nix::libc::ELOOP), _)) => return Err(refused(path, Refusal::Symlink)),
        // A socket, or a device without a driver.
        Err((Some(nix::libc::ENXIO), _)) => return Err(refused(path, Refusal::NotAFile)),
        other => other.map_err(|(_, error)| error).context("open", path)?,
    };
    let meta = file.metadata().context("look at", path)?;
    verdict(Kind::File, &meta, path)?;
    Ok((file, meta))
}

/// The whole contents of a file of the database.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let (mut file, _) = open_file(path)?;
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes).context("read", path)?;
    Ok(bytes)
}

/// Opens a file that is there to be locked, or makes it. Opening a pipe does not wait.
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(ppin_persist::paths::FILE_MODE)
        .custom_flags(O_NOFOLLOW | O_NONBLOCK)
        .open(path)
}

/// Creates a directory and what leads to it, for the user alone.
pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIR_MODE)
        .create(path)
}
