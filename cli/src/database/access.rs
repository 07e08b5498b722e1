//! The database as the verbs open it that do not run a program.

use crate::failure::{Failure, USAGE, failed};
use ppin_cachedb::{Access, Database, default_path};
use std::path::{Path, PathBuf};

/// The database that is meant.
pub fn path_of(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = named.map(Path::to_owned);
    let path = path.or_else(|| default_path(|name| std::env::var_os(name)));
    let path = path.ok_or_else(|| {
        Failure::new(
            USAGE,
            "which database? HOME is not set, and --db is not given",
        )
    })?;
    std::path::absolute(&path).map_err(|error| failed(format!("{}: {error}", path.display())))
}

/// For looking: the catalog may be brought up to date where that is possible. A
/// database that does not exist yet is an empty one.
pub fn reader(path: &Path) -> Result<Option<Database>, Failure> {
    if std::fs::symlink_metadata(path).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
        return Ok(None);
    }
    let writable = nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok();
    let access = if writable {
        Access::ReadWrite
    } else {
        Access::ReadOnly
    };
    Database::open(path, access).map(Some).map_err(failed)
}

/// For changing what is there.
pub fn writer(path: &Path) -> Result<Option<Database>, Failure> {
    match reader(path)? {
        None => Ok(None),
        Some(_) => Database::open(path, Access::ReadWrite)
            .map(Some)
            .map_err(failed),
    }
}

/// For adding to it.
pub fn create(path: &Path) -> Result<Database, Failure> {
    Database::open(path, Access::ReadWrite).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::reader;

    #[test]
    fn a_database_that_is_not_there_is_not_created_by_looking() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        assert!(reader(&path).unwrap().is_none());
        assert!(!path.exists());
    }
}
