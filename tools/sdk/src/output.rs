//! A file that a tool writes while the program runs.
//!
//! Threads write to it at once, each its own pieces. What goes wrong is kept, to be told once in
//! the report.

use alloc::string::{String, ToString};
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use ppin_api::{FileError, FileId, Host};

/// Not open.
const NONE: u64 = u64::MAX;
/// No error so far.
const FINE: i32 = 0;

/// See the module.
#[derive(Debug)]
pub struct Output {
    path: String,
    id: AtomicU64,
    error: AtomicI32,
    written: AtomicU64,
}

impl Output {
    /// The file at `path`, in which `%p` stands for the process id; not opened yet.
    #[must_use]
    pub fn new(path: &str) -> Self {
        Self {
            path: path.into(),
            id: AtomicU64::new(NONE),
            error: AtomicI32::new(FINE),
            written: AtomicU64::new(0),
        }
    }

    /// Opens it for this process, anew in a forked child.
    pub fn open(&self, host: &dyn Host) {
        let (id, error) = match host.open(&self.path) {
            Ok(file) => (u64::from(file.0), FINE),
            Err(error) => (NONE, error.0),
        };
        self.id.store(id, Relaxed);
        self.error.store(error, Relaxed);
        self.written.store(0, Relaxed);
    }

    /// Appends `parts` as one piece, which stands for `count` of what the tool tells.
    pub fn append(&self, host: &dyn Host, parts: &[&[u8]], count: u64) {
        let Ok(id) = u32::try_from(self.id.load(Relaxed)) else {
            return;
        };
        match host.append_parts(FileId(id), parts) {
            Ok(()) => _ = self.written.fetch_add(count, Relaxed),
            Err(error) => self.error.store(error.0, Relaxed),
        }
    }

    /// Its path, with the process id in its place.
    #[must_use]
    pub fn path(&self, host: &dyn Host) -> String {
        self.path.replace("%p", &host.process_id().to_string())
    }

    /// Sum of the counts that were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written.load(Relaxed)
    }

    /// What went wrong last.
    #[must_use]
    pub fn error(&self) -> Option<FileError> {
        let error = self.error.load(Relaxed);
        (error != FINE).then_some(FileError(error))
    }
}
