//! What a tool author writes.

use crate::about::About;
use crate::buffer::{Buffer, BufferId};
use crate::code::CodeBytes;
use crate::host::{Host, ImageInfo, ThreadId};
use crate::insert::RoutineId;
use crate::knob::Knob;
use crate::report::Report;
use crate::routine::{Call, Routine};
use crate::state::State;
use crate::view::Trace;
use alloc::string::String;
use core::any::Any;

/// An instrumentation tool.
///
/// One value lives as long as the process. After [`Tool::configure`] it is only
/// shared, because analysis routines of several threads run at the same time:
/// what a tool collects lies in counters of the [`Host`], in its [`State`]s or in its own atomics.
pub trait Tool: Any + Send + Sync {
    /// Its name, its summary and its knobs: the constant `ABOUT` of its type, from which
    /// `ppin_sdk::tool!` makes the description in the tool's file.
    fn about(&self) -> &'static About;

    /// Name on the command line (`-t NAME`).
    fn name(&self) -> &'static str {
        self.about().name
    }

    /// The options that it takes.
    fn knobs(&self) -> &'static [Knob] {
        self.about().knobs
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

    /// What routines collect, a copy for each thread; named in insertions by their index. At most
    /// [`crate::MAX_STATES`].
    fn states(&self) -> &'static [State] {
        &[]
    }

    /// The analysis routines, named in insertions by their index.
    fn routines(&self) -> &'static [Routine] {
        &[]
    }

    /// Runs analysis routine `routine` of [`Tool::routines`]. Only what passes calls on
    /// to other tools has its own.
    fn analyse(&self, routine: RoutineId, call: &Call<'_>) {
        if let Some(found) = self.routines().get(usize::from(routine.0)) {
            found.call_with_host(call);
        }
    }

    /// The machine code of [`Tool::routines`], if the compiler may put it into translated code. For
    /// what loads tools; an author leaves it as it is.
    fn code(&self) -> Option<&dyn CodeBytes> {
        None
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
