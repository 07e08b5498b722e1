//! The two formats of the file.

use crate::access::Access;
use ppin_sdk::output::Output;
use ppin_sdk::prelude::*;
use ppin_sdk::records::records;

/// Where the accesses go if the user does not say; `%p` stands for the process id.
pub const DEFAULT: &str = "memtrace.%p.out";

/// Begins each piece of the binary format.
const MAGIC: [u8; 4] = *b"ppmt";
const VERSION: u32 = 1;

/// How accesses are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// Pieces of [`Access`] records.
    #[default]
    Binary,
    /// Lines.
    Text,
}

/// The file and its format.
#[derive(Debug)]
pub struct File {
    pub output: Output,
    pub format: Format,
}

impl Default for File {
    fn default() -> Self {
        Self::new(DEFAULT, Format::default())
    }
}

impl File {
    pub fn new(path: &str, format: Format) -> Self {
        Self {
            output: Output::new(path),
            format,
        }
    }

    /// Writes the `accesses` of `thread`.
    pub fn write(&self, host: &dyn Host, thread: ThreadId, accesses: &[u8]) {
        // (They are not looked at: that would cost as much as half of what appends them.)
        let count = accesses.len() as u64 / u64::from(Access::SIZE);
        match self.format {
            Format::Binary => {
                let header = header(host.process_id(), thread, accesses.len() as u64);
                self.output.append(host, &[&header, accesses], count);
            }
            Format::Text => {
                let text = lines(thread, accesses);
                self.output.append(host, &[text.as_bytes()], count);
            }
        }
    }
}

fn header(process: u32, thread: ThreadId, bytes: u64) -> [u8; 24] {
    let mut header = [0; 24];
    let words = [
        MAGIC,
        VERSION.to_le_bytes(),
        process.to_le_bytes(),
        thread.0.to_le_bytes(),
    ];
    for (to, from) in header.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&from);
    }
    header[16..].copy_from_slice(&bytes.to_le_bytes());
    header
}

/// A piece of the text.
fn lines(thread: ThreadId, accesses: &[u8]) -> String {
    let mut text = alloc::format!("# thread {}\n", thread.0);
    for access in records::<Access>(accesses) {
        // A String takes everything.
        let _ = access.lines(&mut text);
    }
    text
}
