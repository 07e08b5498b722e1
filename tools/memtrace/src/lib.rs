//! `memtrace`: every access to memory, in a file.
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
//!   first element is told. Repeated zero times, it has none.
//! - 0 bytes means that the size depends on the state of the processor (`xsave`).
//! - An access under a mask is told whole, whatever the mask.
//! - An access that faults is told, and told again if it is tried again.
//! - Gathers and scatters have no single address: they are only counted; so are the few
//!   others whose address cannot be computed beforehand (`xlat`).
//! - What the kernel reads and writes for the program is not told.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod access;
mod file;

use access::Kind;
use alloc::format;
use alloc::string::ToString;
use file::File;
use ppin_sdk::knobs::Knobs;
use ppin_sdk::log::Log;
use ppin_sdk::number::Grouped;
use ppin_sdk::prelude::*;
use ppin_sdk::report;
use ppin_sdk::table::{Align, Table};

const KNOBS: &[Knob] = &[Knob {
    name: "file",
    default: file::DEFAULT,
    help: "where the accesses go; %p stands for the process id",
    changes_code: false,
    writes_file: true,
}];

/// Counts accesses whose address cannot be told.
const UNTOLD: u32 = 0;

/// Arguments: instruction, address, kind, thread.
const ACCESS: RoutineId = RoutineId(0);
/// The same, the repeat count, and the most elements that are told.
const STRING: RoutineId = RoutineId(1);
const ROUTINES: &[Routine] = &[
    Routine::with_host("access", access),
    Routine::with_host("string", string),
];

/// The tool.
#[derive(Default, Debug)]
pub struct Memtrace {
    file: File,
    /// Instruction, address, [`Kind`].
    log: Log<3>,
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
        self.file = File::new(Knobs::new(&Self::ABOUT, given)?.text("file"));
        Ok(())
    }

    fn global_counters(&self) -> u32 {
        UNTOLD + 1
    }

    fn routines(&self) -> &'static [Routine] {
        ROUTINES
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

    fn start(&self, host: &dyn Host) {
        self.file.open(host);
    }

    fn thread_fini(&self, host: &dyn Host, thread: ThreadId) {
        self.log
            .end(thread, &|id, events| self.file.write(host, id, events));
    }

    fn fork_child(&self, host: &dyn Host) {
        self.log.forget();
        self.file.open(host);
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        self.log
            .flush(&|id, events| self.file.write(host, id, events));
        let _ = self.report(host, report);
    }
}

/// Inserts what tells operand `n` of `ins`.
fn instrument(ins: &Ins<'_>, n: usize, operand: &MemoryOperand) -> Result<(), Refused> {
    if !operand.has_address() {
        return ins.insert_count(IPoint::Before, Counter::Global(UNTOLD), 1);
    }
    let most = if stops_early(ins) { 1 } else { u64::MAX };
    let args = [
        Arg::InsAddr,
        Arg::MemoryEa(n),
        Arg::Const(Kind::of(operand).word()),
        Arg::ThreadId,
        Arg::Reg(Reg::Rcx),
        Arg::Const(most),
    ];
    if ins.is_repeated() {
        ins.insert_call(IPoint::Before, STRING, &args)
    } else {
        ins.insert_call(IPoint::Before, ACCESS, &args[..4])
    }
}

/// Whether a repeated string instruction may end before its count does.
fn stops_early(ins: &Ins<'_>) -> bool {
    let opcode = ins.opcode().to_string();
    opcode.starts_with("scas") || opcode.starts_with("cmps")
}

fn access(call: &Call<'_>) {
    let [pc, address, kind, thread, ..] = call.args;
    record(call, thread, [pc, address, kind]);
}

fn string(call: &Call<'_>) {
    let [pc, address, kind, thread, repeat, most] = call.args;
    if repeat > 0 {
        let kind = Kind::from_word(kind).repeated(repeat.min(most));
        record(call, thread, [pc, address, kind.word()]);
    }
}

fn record(call: &Call<'_>, thread: u64, event: [u64; 3]) {
    if let Some(tool) = call.tool::<Memtrace>() {
        let write =
            |id, events: &mut dyn Iterator<Item = _>| tool.file.write(call.host, id, events);
        tool.log.push(ThreadId(thread as u32), event, &write);
    }
}

impl Memtrace {
    fn report(&self, host: &dyn Host, report: &mut dyn Report) -> fmt::Result {
        let (path, written) = (self.file.path(host), self.file.written());
        let (lost, untold) = (self.log.lost(), host.global_total(UNTOLD));
        let error = self.file.error();
        if report.format() == Format::Json {
            return report::json(self, host, report, |o| {
                o.field("file", path.as_str())?;
                o.field("accesses", written)?;
                o.field("without_address", untold)?;
                o.field("lost", lost)?;
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
        if lost > 0 {
            row(
                lost,
                "accesses lost while another thread was writing".into(),
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
