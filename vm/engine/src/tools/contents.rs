//! The bytes of a tool's object, before it is loaded.
//!
//! A bundled tool lies in the ppin executable, as the runtime does, and is mapped from there like
//! the runtime. Any other is copied: whoever changes its file must not change code that runs.
#![allow(unsafe_code)]

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Deref;
use ppin_os::file::File;
use ppin_os::{Errno, c, mem};
use ppin_plugin::{Chosen, MAX_FILE};

/// The bytes of an object.
pub(super) enum Contents {
    Copy(Vec<u8>),
    Part(Part),
}

impl Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Copy(bytes) => bytes,
            Self::Part(part) => part.bytes(),
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
        Part::map(carrier, at, len).map(Self::Part).map_err(said)
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
            Self::Part(part) => Some(part.offset),
        }
    }
}

/// A part of a file, mapped to be read while objects are loaded.
pub(super) struct Part {
    addr: u64,
    len: u64,
    offset: u64,
}

impl Part {
    fn map(file: &File, offset: u64, len: u64) -> Result<Self, Errno> {
        let addr = mem::map_part(len, file.fd(), offset)?;
        Ok(Self { addr, len, offset })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped until it is dropped, and nobody writes to it: the executable's bytes are not
        // changed in place, or the runtime itself would be others.
        unsafe { core::slice::from_raw_parts(self.addr as *const u8, self.len as usize) }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // SAFETY: our own mapping, to which nothing refers any more.
        let _ = unsafe { mem::unmap(self.addr, self.len) };
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
