//! What the engine offers to a tool outside instrumentation.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use ppin_abi::addr::ImageBase;

/// A thread of the program: dense, in order of creation, never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadId(pub u32);

/// An image (one file's code): dense, in order of loading, never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ImageId(pub u32);

/// A file opened by [`Host::open`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub u32);

/// A thread, running or ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadInfo {
    /// Its number here.
    pub id: ThreadId,
    /// Its number in the kernel.
    pub tid: u32,
}

/// An image, mapped or unmapped again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageInfo {
    /// Its number here.
    pub id: ImageId,
    /// Path of the file, or a name in brackets for code without one.
    pub path: String,
    /// Address of image offset 0: that of file offset 0, as the first executable segment
    /// is mapped.
    pub base: ImageBase,
}

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

/// The process that a tool observes.
pub trait Host: Sync {
    /// Global counter `index`, summed over all threads, ended ones included.
    fn global_total(&self, index: u32) -> u64;

    /// Global counter `index` of one thread, running or ended.
    fn global_of(&self, thread: ThreadId, index: u32) -> u64;

    /// Image counter `index` of one image, summed over all threads.
    fn image_total(&self, image: ImageId, index: u32) -> u64;

    /// All threads so far, by number.
    fn threads(&self) -> Vec<ThreadInfo>;

    /// All images so far, by number.
    fn images(&self) -> Vec<ImageInfo>;

    /// Process id, as the program sees it.
    fn process_id(&self) -> u32;

    /// Path of the program.
    fn program(&self) -> String;

    /// Opens `path` for appending, created if missing. A path that the user chooses is a knob
    /// that says `writes_file`, so that what cannot be written is refused beforehand; `%p` in it stands for the
    /// process id, and a relative path is taken from the directory of this moment.
    /// Valid until the process ends, in forked children too.
    ///
    /// # Errors
    /// What the kernel said.
    fn open(&self, path: &str) -> Result<FileId, FileError>;

    /// Appends `bytes` in one piece.
    ///
    /// # Errors
    /// What the kernel said; the file then holds a part at most.
    fn append(&self, file: FileId, bytes: &[u8]) -> Result<(), FileError>;
}

/// Form of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people.
    Human,
    /// One JSON object on one line.
    Json,
}

/// Where a tool writes its result (`-o FILE`, else standard error).
pub trait Report: fmt::Write {
    /// The form that was asked for.
    fn format(&self) -> Format;
}
