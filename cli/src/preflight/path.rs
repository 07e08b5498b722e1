//! Finding a program as `execvp` does.

use super::words::{not_executable, reason};
use crate::failure::{Failure, NOT_FOUND};
use nix::fcntl::AtFlags;
use nix::unistd::{AccessFlags, faccessat};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where programs are sought when PATH is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file to execute for `program`.
pub fn find(program: &OsStr) -> Result<PathBuf, Failure> {
    if program.as_bytes().contains(&b'/') {
        let path = PathBuf::from(program);
        return check(&path).map(|()| path);
    }
    let along = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    find_along(program, &along)
}

/// Sought in the folders of `along`; one that may not be executed is passed over,
/// and only reported if no other is found.
fn find_along(program: &OsStr, along: &OsStr) -> Result<PathBuf, Failure> {
    let mut denied = None;
    for folder in along.as_bytes().split(|byte| *byte == b':') {
        if program.is_empty() {
            break;
        }
        // An empty element is the current directory.
        let path = Path::new(OsStr::from_bytes(folder)).join(program);
        match executable(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                denied.get_or_insert(path);
            }
            Err(_) => {}
        }
    }
    Err(match denied {
        Some(path) => not_executable(&path, "permission denied"),
        None => Failure::new(
            NOT_FOUND,
            format!("{}: command not found", program.display()),
        ),
    })
}

/// Whether the file at `path` can be executed.
pub fn check(path: &Path) -> Result<(), Failure> {
    executable(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::new(NOT_FOUND, format!("{}: {}", path.display(), reason(&error)))
        }
        _ if path.is_dir() => not_executable(path, "it is a directory"),
        _ => not_executable(path, reason(&error)),
    })
}

fn executable(path: &Path) -> io::Result<()> {
    let is_file = path.metadata()?.is_file();
    // By the effective ids, as the kernel will judge.
    let here = nix::fcntl::AT_FDCWD;
    faccessat(here, path, AccessFlags::X_OK, AtFlags::AT_EACCESS)?;
    if is_file {
        Ok(())
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn put(folder: &Path, name: &str, mode: u32) {
        std::fs::write(folder.join(name), "").unwrap();
        std::fs::set_permissions(folder.join(name), PermissionsExt::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_first_executable_file_along_the_path_is_taken() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(one.path(), "plain", 0o644);
        put(two.path(), "plain", 0o755);
        std::fs::create_dir(one.path().join("tool")).unwrap();
        put(two.path(), "tool", 0o755);
        let along = format!(
            "/nonexistent:{}:{}",
            one.path().display(),
            two.path().display()
        );
        for name in ["plain", "tool"] {
            let found = find_along(name.as_ref(), along.as_ref()).unwrap();
            assert_eq!(found, two.path().join(name));
        }
    }

    #[test]
    fn what_is_found_but_forbidden_is_told_from_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "plain", 0o644);
        let along = folder.path().as_os_str();
        assert_eq!(find_along("plain".as_ref(), along).unwrap_err().status, 126);
        assert_eq!(find_along("other".as_ref(), along).unwrap_err().status, 127);
        assert_eq!(find_along("".as_ref(), along).unwrap_err().status, 127);
        assert_eq!(check(folder.path()).unwrap_err().status, 126);
        assert_eq!(check(&folder.path().join("x/y")).unwrap_err().status, 127);
    }
}
