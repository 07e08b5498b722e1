//! `--log`: events of the engine, one line each, for debugging.
//!
//! Lines are collected and appended to the file in pieces: no descriptor stays open, and several
//! processes can write to one file.

use super::outlet;
use super::program::program;
use crate::vm::Vm;
use crate::words::name;
use core::fmt::Arguments;
use core::sync::atomic::{AtomicBool, Ordering};
use ppin_abi::addr::AppPc;
use ppin_images::ImageId;

/// Bytes of collected lines from which on they are written.
const PIECE: usize = 32 << 10;

/// Whether there is a log, for callers that do not hold the VM lock.
static ON: AtomicBool = AtomicBool::new(false);

/// Whether events are logged.
#[must_use]
pub fn on() -> bool {
    ON.load(Ordering::Relaxed)
}

impl Vm {
    /// Begins the log, if the configuration asks for one.
    pub fn begin_log(&mut self) {
        if self.config().log.is_empty() {
            return;
        }
        ON.store(true, Ordering::Relaxed);
        let started = self.config().started_ns;
        self.code_mut().journal_mut().begin(started);
        let (tool, program) = (self.config().tool_names(), program());
        self.log(format_args!("start of {program} under {tool}"));
    }

    /// Notes an event.
    pub fn log(&mut self, event: Arguments<'_>) {
        self.code_mut().journal_mut().note(event);
        if self.code().journal().len() > PIECE {
            self.write_log();
        }
    }

    /// Writes an event at once, because the process is about to end.
    pub fn log_at_once(&self, event: Arguments<'_>) {
        if let Some(line) = self
            .code()
            .journal()
            .line(event)
            .filter(|_| !self.is_filtered())
        {
            // An error cannot be reported anywhere else.
            let _ = outlet::append(&self.config().log, line.as_bytes());
        }
    }

    /// Notes an event at `pc`.
    pub fn log_at(&mut self, what: Arguments<'_>, pc: AppPc) {
        if on() {
            let name = name(self, pc);
            self.log(format_args!("{what} {name}"));
        }
    }

    /// Notes a new image.
    pub fn log_image(&mut self, id: ImageId) {
        if on() {
            let image = self.code().images().get(id);
            let event = alloc::format!("image {} at {:#x}", image.path(), image.base.0);
            self.log(format_args!("{event}"));
        }
    }

    /// Writes the collected lines.
    pub fn write_log(&mut self) {
        let text = self.code_mut().journal_mut().take();
        if !text.is_empty()
            && !self.is_filtered()
            && let Err(e) = outlet::append(&self.config().log, text.as_bytes())
        {
            self.lines_were_lost(e);
        }
    }

    /// Writes the remaining lines, and a message to descriptor 2 if lines were lost.
    pub fn end_log(&mut self) {
        self.log(format_args!("end"));
        self.write_log();
        if let Some(e) = self.take_lost_lines() {
            let path = outlet::shown(&self.config().log);
            outlet::to_stderr(&alloc::format!(
                "ppin: the log {path} is not complete: {e}\n"
            ));
        }
    }

    /// Starts the log of a forked child: the collected lines are its parent's to write.
    pub fn log_of_child(&mut self) {
        let _ = self.code_mut().journal_mut().take();
        if on() {
            let started = self.config().started_ns;
            self.code_mut().journal_mut().begin(started);
        }
        let _ = self.take_lost_lines();
        self.log(format_args!("forked"));
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use crate::testing;
    use crate::vm::Vm;
    use alloc::string::{String, ToString};
    use std::path::Path;

    /// A VM that logs to `file`.
    fn logging(file: &Path) -> Vm {
        let mut config = testing::config();
        config.log = file.to_str().expect("plain").to_string();
        let mut vm = testing::vm_of(config, testing::thread(0));
        vm.begin_log();
        vm
    }

    fn events(file: &Path) -> String {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let event = |line: &str| String::from(line.splitn(3, ' ').last().unwrap_or_default());
        let events: alloc::vec::Vec<String> = text.lines().map(event).collect();
        events.join("; ")
    }

    #[test]
    fn lines_are_collected_and_written_in_order() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("log");
        let mut vm = logging(&file);
        vm.log(format_args!("one"));
        assert_eq!(events(&file), "", "nothing is written yet");
        vm.log_at_once(format_args!("urgent"));
        vm.end_log();
        let all = events(&file);
        assert!(
            all.starts_with("urgent; start of ") && all.ends_with("; one; end"),
            "{all}"
        );
    }

    #[test]
    fn a_confined_process_opens_no_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("log");
        let mut vm = logging(&file);
        vm.confine();
        vm.log_at_once(format_args!("urgent"));
        vm.end_log();
        assert!(!file.exists());
    }

    #[test]
    fn a_child_leaves_the_collected_lines_to_its_parent() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("log");
        let mut vm = logging(&file);
        vm.log(format_args!("the parent's"));
        vm.log_of_child();
        vm.end_log();
        assert_eq!(events(&file), "forked; end");
    }

    #[test]
    fn many_lines_are_written_before_the_end() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("log");
        let mut vm = logging(&file);
        for n in 0..super::PIECE / 20 {
            vm.log(format_args!("event number {n:010}"));
        }
        assert!(events(&file).contains("event number 0000000001;"));
    }
}
