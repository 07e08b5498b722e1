//! Several tools as one: what is numbered stands one tool after the other.
//!
//! ```text
//! global counters   | 0 1 of the first | 0 of the second | 0 1 2 of the third |
//!                     0 1                2                 3 4 5
//! ```
//! Likewise the counters of images, routines, states and buffers. Each tool sees its own numbers only: in the
//! code that it looks at, and in the host that it asks. Reports follow one another.

mod shifted;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use ppin_api::compiler::{CodeBytes, Insertions, Limits, Value};
use ppin_api::{
    About, Buffer, BufferId, Call, Counter, GLOBAL_COUNTERS, Host, ImageInfo, MAX_BUFFERS,
    MAX_ROUTINES, MAX_STATES, Report, Routine, RoutineId, State, ThreadId, Tool, Trace,
};
use ppin_plugin::Chosen;
use shifted::Shifted;

/// Any number of configured tools. None of them: what translation alone does, under the name
/// `null`.
pub struct Several {
    about: &'static About,
    parts: Vec<Part>,
    routines: &'static [Routine],
    states: &'static [State],
    buffers: &'static [Buffer],
}

impl fmt::Debug for Several {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Several").field(&self.about.name).finish()
    }
}

/// The tools have more of something together than there may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany {
    what: &'static str,
    wanted: u64,
    most: u64,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the tools have {} {} together, and there may be {}",
            self.wanted, self.what, self.most
        )
    }
}

impl core::error::Error for TooMany {}

/// A tool, and where its numbers begin.
struct Part {
    tool: Box<dyn Tool>,
    globals: u32,
    images: u32,
    routines: u16,
    states: u16,
    buffers: u16,
}

/// Whether there is room for so many.
fn room(what: &'static str, wanted: u64, most: usize) -> Result<(), TooMany> {
    let most = most as u64;
    let too_many = TooMany { what, wanted, most };
    (wanted <= most).then_some(()).ok_or(too_many)
}

impl Several {
    /// These tools, in order.
    ///
    /// # Errors
    /// They have too many counters, routines, states or buffers.
    pub fn new(tools: Vec<Box<dyn Tool>>) -> Result<Self, TooMany> {
        let mut parts: Vec<Part> = Vec::new();
        let (mut globals, mut images) = (0_u64, 0_u32);
        let mut routines: Vec<Routine> = Vec::new();
        let mut states: Vec<State> = Vec::new();
        let mut buffers: Vec<Buffer> = Vec::new();
        for tool in tools {
            let first = (globals as u32, images, routines.len() as u16);
            globals += u64::from(tool.global_counters());
            room("counters", globals, GLOBAL_COUNTERS as usize)?;
            images = images.saturating_add(tool.image_counters());
            let first_state = states.len() as u16;
            let first_buffer = buffers.len() as u16;
            routines.extend(tool.routines());
            states.extend(tool.states());
            buffers.extend(tool.buffers());
            room("routines", routines.len() as u64, MAX_ROUTINES)?;
            room("states", states.len() as u64, MAX_STATES)?;
            room("buffers", buffers.len() as u64, MAX_BUFFERS)?;
            parts.push(Part {
                tool,
                globals: first.0,
                images: first.1,
                routines: first.2,
                states: first_state,
                buffers: first_buffer,
            });
        }
        Ok(Self {
            about: about(&parts),
            parts,
            routines: routines.leak(),
            states: states.leak(),
            buffers: buffers.leak(),
        })
    }

    /// The part that routine `routine` belongs to, and its number there.
    fn part(&self, routine: RoutineId) -> Option<(&Part, RoutineId)> {
        let part = self.parts.iter().rfind(|p| p.routines <= routine.0)?;
        Some((part, RoutineId(routine.0 - part.routines)))
    }

    fn each(&self, host: &dyn Host, mut tell: impl FnMut(&dyn Tool, &dyn Host)) {
        for part in &self.parts {
            tell(&*part.tool, &part.host(host));
        }
    }
}

/// One tool as it is, and several as one.
///
/// # Errors
/// They have too many counters.
pub fn joined(mut tools: Vec<Box<dyn Tool>>) -> Result<Box<dyn Tool>, TooMany> {
    if tools.len() == 1
        && let Some(only) = tools.pop()
    {
        return Ok(only);
    }
    Ok(Box::new(Several::new(tools)?))
}

/// What the key of persisted code holds of `tool`, which was chosen so: the hash of its object,
/// and the knobs that change what it inserts.
#[must_use]
pub fn identity(chosen: &Chosen, tool: &dyn Tool) -> ([u8; 32], String) {
    let changes = |name: &str| {
        let mut knobs = tool.knobs().iter();
        knobs.any(|knob| knob.changes_code && knob.name == name)
    };
    (chosen.hash, chosen.changing(changes))
}

fn about(parts: &[Part]) -> &'static About {
    const NONE: &About = &About {
        name: "null",
        summary: "inserts nothing: what translation alone costs",
        knobs: &[],
    };
    if parts.is_empty() {
        return NONE;
    }
    let names: Vec<&str> = parts.iter().map(|part| part.tool.name()).collect();
    Box::leak(Box::new(About {
        name: names.join("+").leak(),
        summary: "several tools",
        knobs: &[],
    }))
}

impl Part {
    fn host<'a>(&'a self, host: &'a dyn Host) -> Shifted<'a> {
        Shifted {
            host,
            globals: (self.globals, self.tool.global_counters()),
            images: (self.images, self.tool.image_counters()),
            states: (self.states.into(), self.tool.states().len() as u32),
        }
    }

    fn shift(&self, value: &mut Value) {
        if let Value::State(id) = value {
            id.0 += self.states;
        }
    }

    /// What the tool inserts, numbered as for all.
    fn instrument(&self, trace: &Trace<'_>) -> Insertions {
        let part = trace.part(Limits::of(&*self.tool));
        self.tool.instrument(&part);
        let mut inserted = part.into_insertions();
        for count in &mut inserted.counts {
            count.counter = match count.counter {
                Counter::Global(n) => Counter::Global(n + self.globals),
                Counter::Image(n) => Counter::Image(n + self.images),
            };
        }
        for record in &mut inserted.appends {
            record.buffer.0 += self.buffers;
            let values = record.fields.iter_mut().map(|(_, value)| value);
            values.for_each(|value| self.shift(value));
        }
        for call in &mut inserted.calls {
            call.routine.0 += self.routines;
            call.args.iter_mut().for_each(|arg| self.shift(arg));
            if let Some(condition) = &mut call.condition {
                condition.routine.0 += self.routines;
                condition.args.iter_mut().for_each(|arg| self.shift(arg));
            }
        }
        inserted
    }
}

/// Each address lies in one of the tools.
impl CodeBytes for Several {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let mut all = self.parts.iter().filter_map(|part| part.tool.code());
        let lens = all.find_map(|code| Some(code.read(address, buffer)).filter(|len| *len > 0));
        lens.unwrap_or(0)
    }

    fn constant(&self, address: u64, buffer: &mut [u8]) -> usize {
        let mut all = self.parts.iter().filter_map(|part| part.tool.code());
        let lens = all.find_map(|code| Some(code.constant(address, buffer)).filter(|len| *len > 0));
        lens.unwrap_or(0)
    }

    fn link(&self, place: u64) -> Option<u64> {
        let mut all = self.parts.iter().filter_map(|part| part.tool.code());
        all.find_map(|code| code.link(place))
    }
}

impl Tool for Several {
    fn about(&self) -> &'static About {
        self.about
    }

    /// Each tool has got its own knobs.
    fn configure(&mut self, knobs: &[(&str, &str)]) -> Result<(), String> {
        match knobs {
            [] => Ok(()),
            [(name, _), ..] => Err(alloc::format!("{} has no knob {name}", self.name())),
        }
    }

    fn distinguishes_blocks(&self) -> bool {
        self.parts.iter().any(|p| p.tool.distinguishes_blocks())
    }

    fn global_counters(&self) -> u32 {
        self.parts.iter().map(|p| p.tool.global_counters()).sum()
    }

    fn image_counters(&self) -> u32 {
        let counts = self.parts.iter().map(|p| p.tool.image_counters());
        counts.fold(0, u32::saturating_add)
    }

    fn instrument(&self, trace: &Trace<'_>) {
        for part in &self.parts {
            trace.insert(part.instrument(trace));
        }
    }

    fn routines(&self) -> &'static [Routine] {
        self.routines
    }

    fn states(&self) -> &'static [State] {
        self.states
    }

    fn buffers(&self) -> &'static [Buffer] {
        self.buffers
    }

    fn buffer_full(&self, host: &dyn Host, buffer: BufferId, thread: ThreadId, records: &[u8]) {
        let part = self.parts.iter().rfind(|p| p.buffers <= buffer.0);
        if let Some(part) = part {
            let own = BufferId(buffer.0 - part.buffers);
            let host = part.host(host);
            part.tool.buffer_full(&host, own, thread, records);
        }
    }

    fn analyse(&self, routine: RoutineId, call: &Call<'_>) {
        if let Some((part, routine)) = self.part(routine) {
            let tool: &dyn Tool = &*part.tool;
            let call = Call {
                tool,
                host: &part.host(call.host),
                args: call.args,
            };
            tool.analyse(routine, &call);
        }
    }

    fn code(&self) -> Option<&dyn CodeBytes> {
        Some(self)
    }

    fn start(&self, host: &dyn Host) {
        self.each(host, |tool, host| tool.start(host));
    }

    fn thread_start(&self, host: &dyn Host, thread: ThreadId) {
        self.each(host, |tool, host| tool.thread_start(host, thread));
    }

    fn thread_fini(&self, host: &dyn Host, thread: ThreadId) {
        self.each(host, |tool, host| tool.thread_fini(host, thread));
    }

    fn image_load(&self, host: &dyn Host, image: &ImageInfo) {
        self.each(host, |tool, host| tool.image_load(host, image));
    }

    fn image_unload(&self, host: &dyn Host, image: &ImageInfo) {
        self.each(host, |tool, host| tool.image_unload(host, image));
    }

    fn fork_child(&self, host: &dyn Host) {
        self.each(host, |tool, host| tool.fork_child(host));
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        self.each(host, |tool, host| tool.fini(host, report));
    }
}
