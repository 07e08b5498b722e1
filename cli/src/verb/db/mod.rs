//! `ppin db`: the database, without running anything.
//!
//! Status 0: yes, or done. 1: no (nothing matches, something is damaged), or the
//! system refuses. 2: wrong use.

mod args;
mod exchange;
mod list;
mod recompile;
mod stat;
mod tidy;
mod verify;

pub use args::Db;
pub use list::{label, name};

use crate::failure::{Failure, NO, USAGE, YES};
use args::Action;
use ppin_cachedb::{Access, Database, Selection, default_path};
use std::path::{Path, PathBuf};

/// Does what was asked; the exit status.
pub fn db(args: &Db) -> Result<u8, Failure> {
    let path = path_of(args.db.as_deref())?;
    match &args.action {
        Action::Path => {
            println!("{}", path.display());
            Ok(YES)
        }
        Action::List { units, format } => list::list(&reader(&path)?, *units, *format),
        Action::Stat { format } => stat::stat(&reader(&path)?, *format),
        Action::Verify { recompile, format } => {
            verify::verify(&reader(&path)?, *recompile, *format)
        }
        Action::Gc(options) => tidy::collect(&writer(&path)?, options),
        Action::Rm { which, format } => tidy::remove(&writer(&path)?, which, *format),
        Action::Export { file, which } => exchange::export(&reader(&path)?, file, which),
        Action::Import { file } => exchange::import(&create(&path)?, file),
    }
}

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

/// What a verb says when the system refuses.
pub fn failed(why: impl std::fmt::Display) -> Failure {
    Failure::new(NO, why)
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
fn writer(path: &Path) -> Result<Option<Database>, Failure> {
    match reader(path)? {
        None => Ok(None),
        Some(_) => Database::open(path, Access::ReadWrite)
            .map(Some)
            .map_err(failed),
    }
}

/// For adding to it.
fn create(path: &Path) -> Result<Database, Failure> {
    Database::open(path, Access::ReadWrite).map_err(failed)
}

/// Units by a word of the user's: a path, or the first digits of an image's identity.
pub fn selection(word: &str) -> Result<Selection, Failure> {
    if word.contains('/') {
        return match std::path::absolute(word) {
            Ok(path) => Ok(Selection::Path(
                std::fs::canonicalize(&path).unwrap_or(path),
            )),
            Err(error) => Err(failed(format!("{word}: {error}"))),
        };
    }
    if word.starts_with('[') {
        return Ok(Selection::Path(word.into()));
    }
    if !word.is_empty() && word.len() <= 64 && word.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(Selection::Image(word.to_owned()));
    }
    Err(Failure::new(
        USAGE,
        format!("{word} is neither a path (with a slash in it) nor the beginning of an identity"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_selects_by_path_or_by_hash() {
        assert_eq!(selection("00aF").unwrap(), Selection::Image("00aF".into()));
        assert_eq!(
            selection("/nonexistent/x").unwrap(),
            Selection::Path("/nonexistent/x".into())
        );
        assert_eq!(
            selection("[vdso]").unwrap(),
            Selection::Path("[vdso]".into())
        );
        assert_eq!(selection("libc").unwrap_err().status, USAGE);
        assert_eq!(selection("").unwrap_err().status, USAGE);
    }

    #[test]
    fn a_database_that_is_not_there_is_not_created_by_looking() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        assert!(reader(&path).unwrap().is_none());
        assert!(!path.exists());
    }
}
