//! Opening a database.

use crate::catalog::Catalog;
use crate::error::{Error, Refusal};
use crate::files::{Disk, Files};
use crate::scan::{self, Scan};
use crate::trust;
use ppin_persist::paths::{CATALOG, default_database};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Rights on a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Everything; it is created if it is missing.
    ReadWrite,
    /// Nothing in it changes.
    ReadOnly,
}

/// A database directory that was found trustworthy.
#[derive(Debug)]
pub struct Database {
    root: PathBuf,
    access: Access,
    pub(crate) files: Box<dyn Files>,
}

/// The database that is used when none is named: `$PPIN_DB`, else
/// `$XDG_CACHE_HOME/ppin`, else `~/.cache/ppin`. `variable` looks up the environment;
/// empty variables count as unset, relative XDG paths are ignored as its
/// specification wants.
#[must_use]
pub fn default_path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let values = ["PPIN_DB", "XDG_CACHE_HOME", "HOME"].map(|name| (name, variable(name)));
    let path = default_database(|name| {
        let known = values.iter().find(|(known, _)| known.as_bytes() == name);
        known?.1.as_ref().map(|value| value.as_bytes())
    });
    path.map(|parts| OsStr::from_bytes(&parts.concat()).into())
}

impl Database {
    /// Opens the database at `path`. Its directory must be the user's own or root's, not
    /// writable for others, and no symbolic link; the folders above it are not checked.
    /// Its contents are judged by the same rule where they are used; what is not trusted is
    /// not used.
    ///
    /// # Errors
    /// It is not trusted, cannot be created, or is missing and `access` is read-only.
    pub fn open(path: &Path, access: Access) -> Result<Self, Error> {
        Self::open_with(path, access, Box::new(Disk))
    }

    /// [`Self::open`], changing files through `files`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(path: &Path, access: Access, files: Box<dyn Files>) -> Result<Self, Error> {
        use crate::error::Context;
        let root = std::path::absolute(path).context("name", path)?;
        // Without a slash at the end, which would make a symbolic link what it leads to.
        let root: PathBuf = root.components().collect();
        match trust::check_dir(&root) {
            Err(error) if error.is_gone() && access == Access::ReadOnly => {
                return Err(Error::Missing(root));
            }
            Err(error) if error.is_gone() => {
                files.make_dir(&root).context("create", &root)?;
                trust::check_dir(&root)?;
            }
            other => other?,
        }
        Ok(Self {
            root,
            access,
            files,
        })
    }

    /// Its directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Lists the folder `units`.
    pub(crate) fn scan(&self) -> Result<Scan, Error> {
        scan::scan(&self.root)
    }

    pub(crate) fn writable(&self) -> Result<(), Error> {
        match self.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly => Err(Error::ReadOnly),
        }
    }

    /// The catalog, if it can be had at once.
    pub(crate) fn catalog(&self) -> Option<Catalog> {
        self.writable().ok()?;
        Catalog::open(&self.root.join(CATALOG))
    }

    /// Why a path in the database is not trusted, if it is not.
    #[must_use]
    pub fn refusal(error: &Error) -> Option<Refusal> {
        match error {
            Error::Refused { why, .. } => Some(*why),
            _ => None,
        }
    }
}
