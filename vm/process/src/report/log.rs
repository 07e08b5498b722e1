//! `--log`: what the engine does, a line for each event, for those who look for a bug.
//!
//! Lines are gathered and appended to the file in pieces: nothing is held open, and
//! several processes can write to one file.

use super::outlet;
use super::program::program;
use crate::vm::Vm;
use crate::words::name;
use core::fmt::Arguments;
use core::sync::atomic::{AtomicBool, Ordering};
use ppin_abi::addr::AppPc;

/// Bytes that are gathered.
const PIECE: usize = 32 << 10;

/// Whether there is a log, for those who do not hold the VM.
static ON: AtomicBool = AtomicBool::new(false);

/// Whether events are wanted.
#[must_use]
pub fn on() -> bool {
    ON.load(Ordering::Relaxed)
}

impl Vm {
    /// Begins the log, if there is to be one.
    pub fn begin_log(&mut self) {
        if self.config.log.is_empty() {
            return;
        }
        ON.store(true, Ordering::Relaxed);
        self.code.journal.begin(self.config.started_ns);
        let (tool, program) = (self.config.tool.clone(), program());
        self.log(format_args!("start of {program} under {tool}"));
    }

    /// Notes an event.
    pub fn log(&mut self, event: Arguments<'_>) {
        self.code.journal.note(event);
        if self.code.journal.len() > PIECE {
            self.write_log();
        }
    }

    /// Writes one that will be the last, or nearly.
    pub fn log_at_once(&self, event: Arguments<'_>) {
        if let Some(line) = self.code.journal.line(event).filter(|_| !self.filtered) {
            // There is no better place to complain to.
            let _ = outlet::append(&self.config.log, line.as_bytes());
        }
    }

    /// Notes an event at `pc`.
    pub fn log_at(&mut self, what: Arguments<'_>, pc: AppPc) {
        if on() {
            let name = name(self, pc);
            self.log(format_args!("{what} {name}"));
        }
    }

    /// Writes what has been gathered.
    pub fn write_log(&mut self) {
        let text = self.code.journal.take();
        if !text.is_empty()
            && !self.filtered
            && let Err(e) = outlet::append(&self.config.log, text.as_bytes())
        {
            self.lost_log = Some(e);
        }
    }

    /// Writes the last of it, and says so on descriptor 2 if some of it is missing.
    pub fn end_log(&mut self) {
        self.log(format_args!("end"));
        self.write_log();
        if let Some(e) = self.lost_log.take() {
            let path = outlet::shown(&self.config.log);
            outlet::to_stderr(&alloc::format!(
                "ppin: the log {path} is not complete: {e}\n"
            ));
        }
    }

    /// This process is a child: its parent writes what it has gathered.
    pub fn log_of_child(&mut self) {
        let _ = self.code.journal.take();
        if on() {
            self.code.journal.begin(self.config.started_ns);
        }
        self.lost_log = None;
        self.log(format_args!("forked"));
    }
}
