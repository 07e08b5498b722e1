//! `--log`: what the engine does, a line for each event, for those who look for a bug.
//!
//! Lines are gathered and appended to the file in pieces: nothing is held open, and
//! several processes can write to one file.

use crate::diagnosis::name;
use crate::outlet;
use crate::sys::{Errno, proc, time};
use crate::vm::Vm;
use alloc::string::String;
use core::fmt::Arguments;
use core::sync::atomic::{AtomicBool, Ordering};
use ppin_abi::addr::AppPc;

/// Bytes that are gathered.
const PIECE: usize = 32 << 10;

/// Whether there is a log, for those who do not hold the VM.
static ON: AtomicBool = AtomicBool::new(false);

/// What is to be written yet, and what could not be.
#[derive(Debug, Default)]
pub struct Log {
    lines: String,
    /// Why some lines are missing in the file.
    lost: Option<Errno>,
}

/// Whether events are wanted.
#[must_use]
pub fn on() -> bool {
    ON.load(Ordering::Relaxed)
}

impl Vm {
    /// Begins the log, if there is to be one.
    pub fn begin_log(&mut self) {
        ON.store(!self.config.log.is_empty(), Ordering::Relaxed);
        let (tool, program) = (self.config.tool.clone(), crate::tools::host::program());
        self.log(format_args!("start of {program} under {tool}"));
    }

    /// Notes an event.
    pub fn log(&mut self, event: Arguments<'_>) {
        if !on() {
            return;
        }
        let line = self.log_line(event);
        self.log.lines.push_str(&line);
        if self.log.lines.len() > PIECE {
            self.write_log();
        }
    }

    /// Writes one that will be the last, or nearly.
    pub fn log_at_once(&self, event: Arguments<'_>) {
        if on() && !self.quiet {
            // There is no better place to complain to.
            let _ = outlet::append(&self.config.log, self.log_line(event).as_bytes());
        }
    }

    fn log_line(&self, event: Arguments<'_>) -> String {
        let us = time::monotonic_ns().saturating_sub(self.config.started_ns) / 1000;
        let (ms, us) = (us / 1000, us % 1000);
        alloc::format!("{} {ms}.{us:03} {event}\n", proc::pid())
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
        let text = core::mem::take(&mut self.log.lines);
        if !text.is_empty()
            && !self.quiet
            && let Err(e) = outlet::append(&self.config.log, text.as_bytes())
        {
            self.log.lost = Some(e);
        }
    }

    /// Writes the last of it, and says so on descriptor 2 if some of it is missing.
    pub fn end_log(&mut self) {
        self.log(format_args!("end"));
        self.write_log();
        if let Some(e) = self.log.lost.take() {
            let path = outlet::shown(&self.config.log);
            outlet::to_stderr(&alloc::format!(
                "ppin: the log {path} is not complete: {e}\n"
            ));
        }
    }

    /// This process is a child: its parent writes what it has gathered.
    pub fn log_of_child(&mut self) {
        self.log.lines.clear();
        self.log.lost = None;
        self.log(format_args!("forked"));
    }
}
