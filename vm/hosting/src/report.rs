//! The tool's report and the statistics, at the end of a process.

use super::buffers;
use super::host::EngineHost;
use alloc::string::String;
use core::fmt;
use ppin_abi::boot::flag;
use ppin_api::{Format, Report};
use ppin_process::counters;
use ppin_process::report::outlet;
use ppin_process::report::program::program;
use ppin_process::vm::{Locked, Vm};

struct Text {
    text: String,
    format: Format,
}

impl fmt::Write for Text {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.text.push_str(s);
        Ok(())
    }
}

impl Report for Text {
    fn format(&self) -> Format {
        self.format
    }
}

/// Lets the tool write its report. The VM lock is released meanwhile.
pub fn tool_report(locked: &mut Locked) {
    let (tool, flags, output) = (
        locked.tool(),
        locked.config().flags,
        locked.config().output.clone(),
    );
    let format = if flags & flag::JSON != 0 {
        Format::Json
    } else {
        Format::Human
    };
    let mut report = Text {
        text: String::new(),
        format,
    };
    buffers::of_all(locked);
    counters::settle(locked);
    locked.unlocked(|| tool.fini(&EngineHost, &mut report));
    if !report.text.is_empty() {
        outlet::deliver("the report", &output, &report.text);
    }
}

/// Writes the statistics, if they were asked for.
pub fn write_stats(vm: &Vm) {
    if vm.config().flags & flag::STATS == 0 {
        return;
    }
    let buffers = ppin_abi::buffers::bytes(ppin_process::buffers::count(vm.tool()));
    let bundles = vm.code().cells();
    let memory = [
        counters::cells(vm).bytes(),
        bundles.end - bundles.start,
        buffers,
    ];
    outlet::deliver(
        "the statistics",
        &vm.config().stats,
        &vm.stats().line(vm.config(), &program(), vm.code(), memory),
    );
}
