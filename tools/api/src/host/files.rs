//! Files that a tool writes.

use core::fmt;

/// A file opened by [`Files::open`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub u32);

/// A file could not be opened or written: the kernel's error number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileError(pub i32);

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ppin_abi::errno::words(self.0) {
            Some(words) => f.write_str(words),
            None => write!(f, "error {} of the kernel", self.0),
        }
    }
}

/// Files that a tool writes.
pub trait Files {
    /// Opens `path` for appending, created if missing. A path that the user chooses is a knob
    /// that says `writes_file`, so that what cannot be written is refused beforehand; `%p` in it stands for the
    /// process id, and a relative path is taken from the directory of this moment.
    /// Valid until the process ends, in forked children too.
    ///
    /// # Errors
    /// What the kernel said.
    fn open(&self, path: &str) -> Result<FileId, FileError>;

    /// Appends `parts` one behind the other, in one piece.
    ///
    /// # Errors
    /// What the kernel said; the file then holds a part at most.
    fn append_parts(&self, file: FileId, parts: &[&[u8]]) -> Result<(), FileError>;

    /// Appends `bytes` in one piece.
    ///
    /// # Errors
    /// As [`Files::append_parts`].
    fn append(&self, file: FileId, bytes: &[u8]) -> Result<(), FileError> {
        self.append_parts(file, &[bytes])
    }
}
