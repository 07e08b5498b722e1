//! The file that the accesses go to.

use crate::access::Kind;
use alloc::string::ToString;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use ppin_sdk::prelude::*;

/// Not open.
const NONE: u64 = u64::MAX;
/// Where the accesses go if the user does not say; `%p` stands for the process id.
pub const DEFAULT: &str = "memtrace.%p.out";
/// No error so far.
const FINE: i32 = 0;

/// See the module. Threads write to it at once, each its own piece.
#[derive(Debug)]
pub struct File {
    path: String,
    id: AtomicU64,
    error: AtomicI32,
    written: AtomicU64,
}

impl Default for File {
    fn default() -> Self {
        Self::new(DEFAULT)
    }
}

impl File {
    /// Not opened yet.
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
        self.id.store(id, Ordering::Relaxed);
        self.error.store(error, Ordering::Relaxed);
        self.written.store(0, Ordering::Relaxed);
    }

    /// Appends the accesses of one thread.
    pub fn write(
        &self,
        host: &dyn Host,
        thread: ThreadId,
        events: &mut dyn Iterator<Item = [u64; 3]>,
    ) {
        let Ok(id) = u32::try_from(self.id.load(Ordering::Relaxed)) else {
            return;
        };
        let (text, count) = lines(thread, events);
        match host.append(FileId(id), text.as_bytes()) {
            Ok(()) => _ = self.written.fetch_add(count, Ordering::Relaxed),
            Err(error) => self.error.store(error.0, Ordering::Relaxed),
        }
    }

    /// Its path, with the process id in its place.
    pub fn path(&self, host: &dyn Host) -> String {
        self.path.replace("%p", &host.process_id().to_string())
    }

    /// Accesses that were written.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// What went wrong last.
    pub fn error(&self) -> Option<FileError> {
        let error = self.error.load(Ordering::Relaxed);
        (error != FINE).then_some(FileError(error))
    }
}

/// A piece of the file, and how many accesses it tells.
fn lines(thread: ThreadId, events: &mut dyn Iterator<Item = [u64; 3]>) -> (String, u64) {
    let mut text = alloc::format!("# thread {}\n", thread.0);
    let mut count = 0;
    for [pc, address, kind] in events {
        // A String takes everything.
        let _ = Kind::from_word(kind).write(&mut text, pc, address);
        count += 1;
    }
    (text, count)
}
