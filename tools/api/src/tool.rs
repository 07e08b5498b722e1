//! What a tool author writes.

use crate::buffer::{Buffer, BufferId};
use crate::host::{Host, ImageInfo, ThreadId};
use crate::knob::Knob;
use crate::report::Report;
use crate::routine::Routine;
use crate::view::Trace;
use alloc::string::String;
use core::any::Any;

/// An instrumentation tool.
///
/// One value lives as long as the process. After [`Tool::configure`] it is only
/// shared, because analysis routines of several threads run at the same time:
/// what a tool collects lies in counters of the [`Host`] or in its own atomics.
pub trait Tool: Any + Send + Sync {
    /// Name on the command line (`-t NAME`), lower case.
    fn name(&self) -> &'static str;

    /// What it tells, in one sentence.
    fn summary(&self) -> &'static str;

    /// The options that it takes, checked by the command line.
    fn knobs(&self) -> &'static [Knob] {
        &[]
    }

    /// Takes over the knobs that were given, before anything else is called.
    ///
    /// # Errors
    /// A sentence for the user that says which value is wrong, and why.
    fn configure(&mut self, knobs: &[(&str, &str)]) -> Result<(), String> {
        match knobs {
            [] => Ok(()),
            [(name, _), ..] => Err(alloc::format!("{} has no knob {name}", self.name())),
        }
    }

    /// Whether the tool tells the start of a block from its continuation behind
    /// the limit of a trace. Costs a second translation of some code.
    fn distinguishes_blocks(&self) -> bool {
        false
    }

    /// Number of [`crate::Counter::Global`] counters that it has, at most
    /// [`crate::GLOBAL_COUNTERS`]. The fewer, the cheaper each addition.
    fn global_counters(&self) -> u32 {
        0
    }

    /// Number of [`crate::Counter::Image`] counters that each image needs.
    fn image_counters(&self) -> u32 {
        0
    }

    /// Asked once for every trace that is translated; see the crate.
    fn instrument(&self, trace: &Trace<'_>);

    /// The analysis routines, named in insertions by their index.
    fn routines(&self) -> &'static [Routine] {
        &[]
    }

    /// The buffers for records, named in insertions by their index; at most
    /// [`crate::MAX_BUFFERS`]. Each thread has its own memory for each.
    fn buffers(&self) -> &'static [Buffer] {
        &[]
    }

    /// Takes the records that `thread` has appended to `buffer`, oldest first: whole ones, side by
    /// side. Told when the buffer is full, when the thread has ended ([`Tool::thread_fini`] comes
    /// behind) and before [`Tool::fini`]; never for no records. Another thread may be the one that
    /// tells it, and several may at the same time, but those of one thread come in their order.
    /// What a process had appended when it was forked is the parent's.
    fn buffer_full(&self, _host: &dyn Host, _buffer: BufferId, _thread: ThreadId, _records: &[u8]) {
    }

    /// The program's first instruction is about to run.
    fn start(&self, _host: &dyn Host) {}

    /// A thread is about to run its first instruction (the first one included).
    fn thread_start(&self, _host: &dyn Host, _thread: ThreadId) {}

    /// A thread has run its last instruction. Not called for threads that are
    /// still there when the process ends.
    fn thread_fini(&self, _host: &dyn Host, _thread: ThreadId) {}

    /// Code of a file was mapped.
    fn image_load(&self, _host: &dyn Host, _image: &ImageInfo) {}

    /// It was unmapped again; its counters stay readable.
    fn image_unload(&self, _host: &dyn Host, _image: &ImageInfo) {}

    /// This process is a fresh copy of its parent, with one thread. Counters start
    /// from zero; what the tool itself has buffered is the parent's to report.
    fn fork_child(&self, _host: &dyn Host) {}

    /// The process ends, or replaces itself by another program.
    fn fini(&self, _host: &dyn Host, _report: &mut dyn Report) {}
}
