//! Whose files may be used: our own and root's, and nobody else may write to them.

use crate::error::{Context, Error, Refusal};
use nix::libc::O_NOFOLLOW;
use nix::unistd::geteuid;
use ppin_persist::paths::DIR_MODE;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Group and others may write.
const WRITABLE: u32 = 0o022;

fn own(meta: &Metadata) -> Result<(), Refusal> {
    // Root's files are trusted as its kernel is: images ship databases as root's.
    if meta.uid() != geteuid().as_raw() && meta.uid() != 0 {
        return Err(Refusal::Owner(meta.uid()));
    }
    if meta.mode() & WRITABLE != 0 {
        return Err(Refusal::Writable(meta.mode() & 0o7777));
    }
    Ok(())
}

/// Checks a directory itself, not what leads to it.
pub(crate) fn check_dir(path: &Path) -> Result<(), Error> {
    let meta = fs::symlink_metadata(path).context("look at", path)?;
    let verdict = if meta.is_symlink() {
        Err(Refusal::Symlink)
    } else if !meta.is_dir() {
        Err(Refusal::NotADirectory)
    } else {
        own(&meta)
    };
    verdict.map_err(|why| Error::Refused {
        path: path.to_owned(),
        why,
    })
}

/// Opens a file of the database for reading; its metadata are those of what was
/// opened.
pub(crate) fn open_file(path: &Path) -> Result<(File, Metadata), Error> {
    let refused = |why| Error::Refused {
        path: path.to_owned(),
        why,
    };
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(O_NOFOLLOW | nix::libc::O_NONBLOCK)
        .open(path);
    let file = match opened {
        Err(error) if error.raw_os_error() == Some(nix::libc::ELOOP) => {
            return Err(refused(Refusal::Symlink));
        }
        other => other.context("open", path)?,
    };
    let meta = file.metadata().context("look at", path)?;
    if !meta.is_file() {
        return Err(refused(Refusal::NotAFile));
    }
    own(&meta).map_err(refused)?;
    Ok((file, meta))
}

/// Creates a directory and what leads to it, for the user alone.
pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIR_MODE)
        .create(path)
}
