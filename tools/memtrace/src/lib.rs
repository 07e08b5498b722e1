//! `memtrace`: every access to memory, in a file.
//!
//! The file holds records of 24 bytes ([FORMAT.md](../FORMAT.md)); `ppin tool memtrace-print` shows
//! them, and `--knob format=text` writes them as lines:
//!
//! ```text
//! # thread 0
//! 0x401000: R 0x404010 8
//! 0x401007: W 0x7ffd1b3c8f58 8
//! ```
//! Each line tells the instruction, `R` or `W`, the address and the bytes; what is
//! read and written has two lines, and what an instruction reads comes before what it
//! writes. Lines of one thread are in order and come in pieces, each headed by the
//! thread.
//!
//! - A repeated string instruction has one line for each operand, which covers all
//!   its elements, taken as ascending; `scas` and `cmps` may stop early, so only their
//!   first element is told. Repeated zero times, it has none (but a record, and the report counts records).
//! - 0 bytes means that the size depends on the state of the processor (`xsave`).
//! - An access under a mask is told whole, whatever the mask.
//! - An access that faults is told, and told again if it is tried again.
//! - Gathers and scatters have no single address: they are only counted; so are the few
//!   others whose address cannot be computed beforehand (`xlat`, bits of a string that a register numbers, `clzero`).
//! - What the kernel reads and writes for the program is not told.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod access;
mod file;

use access::{Access, What};
use alloc::format;
use alloc::string::ToString;
use file::File;
use ppin_sdk::knobs::Knobs;
use ppin_sdk::number::Grouped;
use ppin_sdk::prelude::*;
use ppin_sdk::report;
use ppin_sdk::table::{Align, Table};

const KNOBS: &[Knob] = &[
    Knob {
        name: "file",
        default: file::DEFAULT,
        help: "where the accesses go; %p stands for the process id",
        changes_code: false,
        writes_file: true,
    },
    Knob {
        name: "format",
        default: "binary",
        help: "how they are written: binary (records of 24 bytes) or text (lines)",
        changes_code: false,
        writes_file: false,
    },
];

/// Counts accesses whose address cannot be told.
const UNTOLD: u32 = 0;

/// Where accesses are appended.
const ACCESSES: BufferId = BufferId(0);

/// The tool.
#[derive(Default, Debug)]
pub struct Memtrace {
    file: File,
}

impl Memtrace {
    /// Its name, summary and knobs.
    pub const ABOUT: About = About {
        name: "memtrace",
        summary: "records every access to memory: address, size, read or write",
        knobs: KNOBS,
    };
}

impl Tool for Memtrace {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn configure(&mut self, given: &[(&str, &str)]) -> Result<(), String> {
        let knobs = Knobs::new(&Self::ABOUT, given)?;
        let format = match knobs.text("format") {
            "binary" => file::Format::Binary,
            "text" => file::Format::Text,
            other => return Err(format!("format={other}: formats are binary and text")),
        };
        self.file = File::new(knobs.text("file"), format);
        Ok(())
    }

    fn global_counters(&self) -> u32 {
        UNTOLD + 1
    }

    fn buffers(&self) -> &'static [Buffer] {
        const BUFFER: Buffer = Buffer::of::<Access>("accesses");
        &[BUFFER]
    }

    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            let operands = ins.memory_operands();
            let mut operands: Vec<_> = operands.iter().enumerate().collect();
            operands.sort_by_key(|(_, operand)| !operand.access.reads());
            for (n, operand) in operands {
                instrument(&ins, n, operand).expect("asked for only what can be had");
            }
        }
    }

    fn buffer_full(&self, host: &dyn Host, _: BufferId, thread: ThreadId, records: &[u8]) {
        self.file.write(host, thread, records);
    }

    fn start(&self, host: &dyn Host) {
        self.file.output.open(host);
    }

    fn fork_child(&self, host: &dyn Host) {
        self.file.output.open(host);
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        let _ = self.report(host, report);
    }
}

/// Inserts what tells operand `n` of `ins`.
fn instrument(ins: &Ins<'_>, n: usize, operand: &MemoryOperand) -> Result<(), Refused> {
    if !operand.has_address() {
        return ins.insert_count(IPoint::Before, Counter::Global(UNTOLD), 1);
    }
    let repeated = ins.is_repeated();
    let What(what) = What::of(operand, repeated, ends_early(ins));
    let count = if repeated {
        Arg::Reg(Reg::Rcx)
    } else {
        Arg::Const(0)
    };
    let args = [
        Arg::InsAddr,
        Arg::MemoryEa(n),
        Arg::Const(what.into()),
        count,
    ];
    ins.append(IPoint::Before, ACCESSES, &args)
}

/// Whether a repeated string instruction may end before its count does.
fn ends_early(ins: &Ins<'_>) -> bool {
    let opcode = ins.opcode().to_string();
    opcode.starts_with("scas") || opcode.starts_with("cmps")
}

impl Memtrace {
    fn report(&self, host: &dyn Host, report: &mut dyn Report) -> fmt::Result {
        let output = &self.file.output;
        let (path, written) = (output.path(host), output.written());
        let untold = host.global_total(UNTOLD);
        let error = output.error();
        if report.format() == Format::Json {
            return report::json(self, host, report, |o| {
                o.field("file", path.as_str())?;
                o.field("accesses", written)?;
                o.field("without_address", untold)?;
                error.map_or(Ok(()), |error| o.field("error", error.to_string()))
            });
        }
        let mut table = Table::new([Align::Right, Align::Left]);
        let mut row = |count, text: String| table.row([Grouped(count).to_string(), text]);
        row(written, format!("accesses, in {path}"));
        if untold > 0 {
            row(
                untold,
                "accesses without a known address (gathers, scatters)".into(),
            );
        }
        if let Some(error) = error {
            table.row([String::new(), format!("the file is incomplete: {error}")]);
        }
        report::human(self, host, report, table)
    }
}

#[cfg(test)]
mod tests;
