//! Which database a run uses, and whether it may be trusted.

use crate::failure::Failure;
use crate::options::Cache;
use ppin_abi::boot::CacheMode;
use ppin_cachedb::{Access, Database, Error, Refusal, default_path};
use std::path::{Path, PathBuf};

/// The database of a run.
#[derive(Debug)]
pub struct Choice {
    /// How the database is used.
    pub mode: CacheMode,
    /// Its directory, absolute; empty: none.
    pub dir: PathBuf,
    /// Read-only databases beneath it.
    pub beneath: Vec<PathBuf>,
    /// Why none is used although one was asked for, if so.
    pub note: Option<String>,
}

impl Choice {
    fn none(note: Option<String>) -> Self {
        Self {
            mode: CacheMode::Off,
            dir: PathBuf::new(),
            beneath: Vec::new(),
            note,
        }
    }
}

/// Opens what was asked for. A database that the user named must be sound; the default
/// one, and one that the user has merely no right to, or no room for, is done without.
pub fn choose(named: &[PathBuf], cache: Cache) -> Result<Choice, Failure> {
    let (mode, access) = match cache {
        Cache::Rw => (CacheMode::ReadWrite, Access::ReadWrite),
        Cache::Ro => (CacheMode::ReadOnly, Access::ReadOnly),
        Cache::Off => return Ok(Choice::none(None)),
    };
    let Some((first, beneath)) = named.split_first() else {
        return Ok(default_one(mode, access));
    };
    let dir = match open(first, access) {
        Err(Unusable::Denied(why)) => return Ok(Choice::none(Some(why))),
        other => other.map_err(Unusable::fatal)?,
    };
    let beneath = beneath
        .iter()
        .map(|path| open(path, Access::ReadOnly).map_err(Unusable::fatal));
    Ok(Choice {
        mode,
        dir,
        beneath: beneath.collect::<Result<_, _>>()?,
        note: None,
    })
}

fn default_one(mode: CacheMode, access: Access) -> Choice {
    let Some(path) = default_path(|name| std::env::var_os(name)) else {
        return Choice::none(Some("no place for a database: HOME is not set".to_owned()));
    };
    match open(&path, access) {
        Ok(dir) => Choice {
            mode,
            dir,
            beneath: Vec::new(),
            note: None,
        },
        Err(Unusable::Denied(why) | Unusable::Unsound(why)) => Choice::none(Some(why)),
    }
}

/// Why a database is not used.
enum Unusable {
    /// Another user's, or the system denies access.
    Denied(String),
    /// Not a database, or one that cannot be trusted.
    Unsound(String),
}

impl Unusable {
    fn fatal(self) -> Failure {
        let (Self::Denied(why) | Self::Unsound(why)) = self;
        Failure::of_ppin(why)
    }
}

impl From<Error> for Unusable {
    fn from(error: Error) -> Self {
        use std::io::ErrorKind::{
            PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
        };
        let denied = match &error {
            Error::Io { source, .. } => matches!(
                source.kind(),
                PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull
            ),
            Error::Refused { why, .. } => matches!(why, Refusal::Owner(_)),
            _ => false,
        };
        if denied {
            Self::Denied(error.to_string())
        } else {
            Self::Unsound(error.to_string())
        }
    }
}

fn open(path: &Path, access: Access) -> Result<PathBuf, Unusable> {
    let database = Database::open(path, access)?;
    let path = database.path();
    match path.to_str() {
        Some(text) if !text.contains([':', '\n']) => Ok(path.to_owned()),
        _ => Err(Unusable::Unsound(format!(
            "the path {} of the database is not plain text",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_named_database_is_created_for_the_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let choice = choose(std::slice::from_ref(&path), Cache::Rw).unwrap();
        assert_eq!((choice.mode, &choice.dir), (CacheMode::ReadWrite, &path));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_named_database_that_others_may_write_to_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let open = PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).unwrap();
        let failure = choose(&[folder.path().to_owned()], Cache::Rw).unwrap_err();
        assert_eq!(failure.status, 125);
        assert!(
            failure.message.contains("others may write"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn a_database_that_the_system_refuses_is_done_without() {
        let refused = Path::new("/proc/ppin");
        let error = Error::Io {
            what: "create",
            path: refused.to_owned(),
            source: std::io::ErrorKind::PermissionDenied.into(),
        };
        assert!(matches!(Unusable::from(error), Unusable::Denied(_)));
        let error = Error::Missing(refused.to_owned());
        assert!(matches!(Unusable::from(error), Unusable::Unsound(_)));
    }

    #[test]
    fn no_database_is_touched_when_it_is_off() {
        let choice = choose(&["/nonexistent/x".into()], Cache::Off).unwrap();
        assert_eq!((choice.mode, choice.dir), (CacheMode::Off, PathBuf::new()));
    }
}
