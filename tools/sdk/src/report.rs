//! Reports in both forms, from one description.
//!
//! ```text
//!  icount: /usr/bin/xz (process 4711)
//!
//!   12,345,678  instructions
//!   12,000,000    thread 0 (4711)
//!      345,678    thread 1 (4712)
//! ```
//! or
//! ```text
//! {"tool":"icount","process":4711,"program":"/usr/bin/xz","instructions":12345678,
//!  "threads":[{"thread":0,"tid":4711,"instructions":12000000},...]}
//! ```
//! on one line.

use crate::json::{self, Object};
use crate::number::Grouped;
use crate::table::{Align, Table};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use ppin_api::{Format, Host, Report, ThreadId, Tool};

/// Most threads that a report for people lists.
const THREADS_SHOWN: usize = 32;

/// Writes a human report: a heading that tells the process, then what `body` says.
///
/// # Errors
/// Those of the report.
pub fn human(
    tool: &dyn Tool,
    host: &dyn Host,
    report: &mut dyn Report,
    body: impl fmt::Display,
) -> fmt::Result {
    let (name, program, process) = (tool.name(), host.program(), host.process_id());
    write!(
        report,
        "\n {name}: {program} (process {process})\n\n{body}\n"
    )
}

/// Writes a report for programs: an object that tells the process, then what `fill`
/// says.
///
/// # Errors
/// Those of the report.
pub fn json(
    tool: &dyn Tool,
    host: &dyn Host,
    report: &mut dyn Report,
    fill: impl FnOnce(&mut Object<'_>) -> fmt::Result,
) -> fmt::Result {
    json::object(report, |o| {
        o.field("tool", tool.name())?;
        o.field("process", host.process_id())?;
        o.field("program", host.program())?;
        fill(o)
    })?;
    report.write_char('\n')
}

/// The report of a tool that counts one thing: in total, and by thread.
///
/// # Errors
/// Those of the report.
pub fn count(
    tool: &dyn Tool,
    host: &dyn Host,
    report: &mut dyn Report,
    what: &str,
    counter: u32,
) -> fmt::Result {
    let counts = Counts::read(host, counter);
    match report.format() {
        Format::Human => human(tool, host, report, counts.table(what)),
        Format::Json => json(tool, host, report, |o| counts.members(o, what)),
    }
}

/// A counter's values.
struct Counts {
    threads: Vec<(ThreadId, u32, u64)>,
}

impl Counts {
    fn read(host: &dyn Host, counter: u32) -> Self {
        let count = |id| host.global_of(id, counter);
        let threads = host.threads().into_iter();
        Self {
            threads: threads.map(|t| (t.id, t.tid, count(t.id))).collect(),
        }
    }

    /// The sum of what was read, so that the parts add up even while other threads
    /// still count.
    fn total(&self) -> u64 {
        self.threads.iter().map(|(_, _, count)| count).sum()
    }

    fn table(&self, what: &str) -> Table<2> {
        let mut table = Table::new([Align::Right, Align::Left]);
        table.row([Grouped(self.total()).to_string(), what.into()]);
        if self.threads.len() > 1 {
            for (id, tid, count) in self.threads.iter().take(THREADS_SHOWN) {
                let name = format!("  thread {} ({tid})", id.0);
                table.row([Grouped(*count).to_string(), name]);
            }
        }
        let rest = self.threads.iter().skip(THREADS_SHOWN);
        if rest.len() > 0 {
            let name = format!("  {} more threads", Grouped(rest.len() as u64));
            let count = rest.map(|(_, _, count)| count).sum();
            table.row([Grouped(count).to_string(), name]);
        }
        table
    }

    fn members(&self, o: &mut Object<'_>, what: &str) -> fmt::Result {
        o.field(what, self.total())?;
        o.array("threads", |a| {
            self.threads.iter().try_for_each(|(id, tid, count)| {
                a.object(|o| {
                    o.field("thread", id.0)?;
                    o.field("tid", *tid)?;
                    o.field(what, *count)
                })
            })
        })
    }
}
