//! Errors, each in one sentence.

use ppin_persist::Reject;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use ppin_persist::trust::Refusal;

/// Why an operation on the database failed.
#[derive(Debug)]
pub enum Error {
    /// The operating system's answer.
    Io {
        /// The action, as in "cannot {what}".
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
    /// A part of the database is not trusted.
    Refused {
        /// Which.
        path: PathBuf,
        /// Why.
        why: Refusal,
    },
    /// There is no database there.
    Missing(PathBuf),
    /// The database was opened for reading only.
    ReadOnly,
    /// Another process is collecting or compacting.
    Busy,
    /// A unit cannot be used.
    Unit {
        /// Its path, or its name in an exchange file.
        path: PathBuf,
        /// Why.
        why: Reject,
    },
    /// An exchange file is not one, or is cut or damaged.
    Pack(&'static str),
}

impl Error {
    /// Whether there is no such file.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { what, path, source } => {
                write!(f, "cannot {what} {}: {source}", path.display())
            }
            Self::Refused { path, why } => {
                write!(f, "{} is not trusted: {why}", path.display())
            }
            Self::Missing(path) => write!(f, "there is no database at {}", path.display()),
            Self::ReadOnly => f.write_str("the database was opened for reading only"),
            Self::Busy => f.write_str("another process is tidying the database"),
            Self::Unit { path, why } => write!(f, "{}: {why}", path.display()),
            Self::Pack(why) => write!(f, "the exchange file {why}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Unit { why, .. } => Some(why),
            _ => None,
        }
    }
}

/// Says what was tried with which file when the system refuses.
pub(crate) trait Context<T> {
    fn context(self, what: &'static str, path: &Path) -> Result<T, Error>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, what: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io {
            what,
            path: path.to_owned(),
            source,
        })
    }
}
