//! What a tool author writes.

use super::{Host, ImageInfo, Report, ThreadId, Trace};
use alloc::string::String;
use core::any::Any;
use ppin_abi::record::MAX_ARGS;

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

    /// Number of [`super::Counter::Image`] counters that each image needs.
    fn image_counters(&self) -> u32 {
        0
    }

    /// Asked once for every trace that is translated; see the module.
    fn instrument(&self, trace: &Trace<'_>);

    /// The analysis routines, named in insertions by their index.
    fn routines(&self) -> &'static [Routine] {
        &[]
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

/// An option of a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Knob {
    /// Name, given as `--knob NAME=VALUE`.
    pub name: &'static str,
    /// Value if not given, for the help text.
    pub default: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// Whether it changes what is inserted: such a knob is part of the identity of
    /// persisted code.
    pub changes_code: bool,
    /// Whether its value is the path of a file that the tool writes (`%p` stands for the
    /// process id). The command line makes the path absolute, makes sure before the program
    /// starts that the file can be written, and empties what an earlier run left.
    pub writes_file: bool,
}

/// A function that translated code calls.
#[derive(Clone, Copy, Debug)]
pub struct Routine {
    /// Name, for listings of translated code.
    pub name: &'static str,
    /// The function.
    pub function: RoutineFn,
}

/// Runs on the thread that executes the instruction, at the same time as others.
/// It must not wait for another thread: signals are held back while it runs.
pub type RoutineFn = fn(&Call<'_>);

/// What an analysis routine is called with.
pub struct Call<'a> {
    /// The tool itself; see [`Call::tool`].
    pub tool: &'a dyn Tool,
    /// The process around it.
    pub host: &'a dyn Host,
    /// Values of the arguments named at insertion, in order; the rest are 0.
    pub args: [u64; MAX_ARGS],
}

impl Call<'_> {
    /// The tool by its type, for its state; `None` if it is another tool.
    #[must_use]
    pub fn tool<T: Tool>(&self) -> Option<&T> {
        let any: &dyn Any = self.tool;
        any.downcast_ref()
    }
}
