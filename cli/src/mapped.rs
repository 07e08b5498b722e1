//! Files that are looked into by mapping them: of a large library, `inspect` needs a few pages.
//!
//! # Safety
//!
//! A mapped file shows what others write to it meanwhile. Units never change once they have their
//! name, and an image that is changed in place can only make wrong lines of what is shown: every
//! offset in both is checked where it is used, and no reference is kept to anything but bytes. A
//! file that is made shorter meanwhile ends this process with SIGBUS, as LIMITS.md says; nothing
//! is mapped here that a run of a program needs.
#![allow(unsafe_code)]

use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::ops::Deref;

/// Bytes of a file, or made in memory.
#[derive(Debug)]
pub enum Bytes {
    /// A mapped file.
    Mapped(Mmap),
    /// Read, because it is no file.
    Read(Vec<u8>),
}

impl Bytes {
    /// The contents of an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        // SAFETY: see the module.
        unsafe { Mmap::map(file) }.map(Self::Mapped)
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;
    use std::io::Write;

    #[test]
    fn a_file_is_its_bytes_also_if_it_has_none() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(&*Bytes::of(&file).unwrap(), b"");
        file.write_all(b"hello").unwrap();
        assert_eq!(&*Bytes::of(&file).unwrap(), b"hello");
    }
}
