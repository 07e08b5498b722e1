//! The bytes of a tool's object, before it is loaded.
//!
//! A bundled tool lies in the ppin executable, as the runtime does, and is mapped from there like
//! the runtime. Any other is copied: whoever changes its file must not change code that runs.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Deref;
use ppin_os::file::File;
use ppin_os::mapped::Mapped;
use ppin_os::{Errno, c};
use ppin_plugin::{Chosen, MAX_FILE};

/// The bytes of an object.
pub(super) enum Contents {
    Copy(Vec<u8>),
    /// Where in the ppin executable they lie, too.
    Carried(Mapped, u64),
}

impl Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Copy(bytes) => bytes,
            Self::Carried(part, _) => part.bytes(),
        }
    }
}

impl Contents {
    /// Of a tool that `carrier`, the ppin executable, carries.
    pub(super) fn carried((at, len): (u64, u64), carrier: &File) -> Result<Self, String> {
        if len > MAX_FILE {
            return Err("it is too large".to_string());
        }
        let size = carrier.stat().map_err(said)?.size;
        if at.checked_add(len).is_none_or(|end| end > size) {
            return Err("the ppin executable is shorter than it was".to_string());
        }
        let part = Mapped::part(carrier.fd(), at, len).map_err(said)?;
        Ok(Self::Carried(part, at))
    }

    /// Of a tool that was given by its path: those that the run was started with.
    pub(super) fn unchanged(tool: &Chosen) -> Result<Self, String> {
        let bytes = by_path(&tool.name)?;
        match ppin_persist::object_hash(&bytes) == tool.hash {
            true => Ok(Self::Copy(bytes)),
            false => Err("it has changed since the run was started".to_string()),
        }
    }

    /// Where in the ppin executable they lie.
    pub(super) fn place(&self) -> Option<u64> {
        match self {
            Self::Copy(_) => None,
            Self::Carried(_, place) => Some(*place),
        }
    }
}

fn by_path(path: &str) -> Result<Vec<u8>, String> {
    let file = File::open(path, c::O_RDONLY | c::O_NONBLOCK | c::O_NOCTTY, 0).map_err(said)?;
    let size = file.stat().map_err(said)?.size;
    if size > MAX_FILE {
        return Err("it is too large".to_string());
    }
    let mut bytes = alloc::vec![0; size as usize];
    // What is missing, or was changed meanwhile, shows in the hash.
    file.read_at(&mut bytes, 0).map_err(said)?;
    Ok(bytes)
}

fn said(error: Errno) -> String {
    error.to_string()
}
