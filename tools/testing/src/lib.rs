//! A process to try a tool in: it runs nothing, but whatever the tool asks for in a
//! piece of code happens as if the piece had been executed once, straight through.
//!
//! ```
//! use ppin_sdk::prelude::*;
//! use ppin_testing::{Process, Sample};
//!
//! struct Pushes;
//!
//! impl Tool for Pushes {
//!     fn about(&self) -> &'static About {
//!         &About { name: "pushes", summary: "counts pushes", knobs: &[] }
//!     }
//!     fn global_counters(&self) -> u32 { 1 }
//!     fn instrument(&self, trace: &Trace<'_>) {
//!         for ins in trace.ins().filter(|ins| ins.opcode().to_string() == "push") {
//!             ins.insert_count(IPoint::Before, Counter::Global(0), 1).unwrap();
//!         }
//!     }
//! }
//!
//! let process = Process::new();
//! process.run(&Pushes, &Sample::new(&[0x50, 0x53, 0x90, 0xc3])); // push push nop ret
//! assert_eq!(process.global_total(0), 2);
//! ```
#![forbid(unsafe_code)]

mod calls;
mod process;
mod run;

use ppin_abi::context::Context;
use ppin_api::{Format, Host, ImageId, Report, ThreadId, Tool};
use std::fmt;

pub use process::{BASE, Process};

/// For [`Sample::context`]: the head goes on with a block that was entered before.
pub const CONTINUATION: Context = Context::CONTINUATION;

/// A piece of code, and who executes it in what state.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its machine code. A trace is made of it, so it ends where a trace would.
    pub bytes: Vec<u8>,
    /// Where it lies in its image.
    pub offset: i32,
    /// The image.
    pub image: ImageId,
    /// What is known at its head.
    pub context: Context,
    /// The thread that executes it.
    pub thread: ThreadId,
    /// What the general purpose registers hold, until the tool changes one.
    pub registers: [u64; 16],
    /// Base of the segments fs and gs.
    pub segments: [u64; 2],
}

impl Sample {
    /// Code at [`Sample::PC`], executed by the first thread, registers all 0.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            offset: 0x1000,
            image: ImageId(0),
            context: Context::CANONICAL,
            thread: ThreadId(0),
            registers: [0; 16],
            segments: [0; 2],
        }
    }

    /// App address of a new sample.
    pub const PC: u64 = BASE + 0x1000;
}

/// What `tool` reports in `format` if the process ends now.
#[must_use]
pub fn report(tool: &dyn Tool, process: &dyn Host, format: Format) -> String {
    let mut page = Page {
        text: String::new(),
        format,
    };
    tool.fini(process, &mut page);
    page.text
}

struct Page {
    text: String,
    format: Format,
}

impl fmt::Write for Page {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.push_str(text);
        Ok(())
    }
}

impl Report for Page {
    fn format(&self) -> Format {
        self.format
    }
}

#[cfg(test)]
mod tests;
